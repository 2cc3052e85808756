# The service with its dashboard: docker build -t evidencerails . && docker run -p 8484:8484 -v "$PWD/deploy:/etc/evidencerails:ro" evidencerails
ARG BASE=python:3.12-slim
FROM ${BASE} AS build
WORKDIR /src
COPY . .
# The one package that is named is the source beside it.
# hadolint ignore=DL3013
RUN pip install --no-cache-dir --prefix=/install ".[service,store,postgresql,telemetry]"

# hadolint ignore=DL3006
FROM ${BASE}
COPY --from=build /install /usr/local
RUN useradd --system --uid 10001 --create-home evidencerails && mkdir /data && chown evidencerails /data
USER 10001
WORKDIR /data
ENV DO_NOT_TRACK=1 PYTHONUNBUFFERED=1
EXPOSE 8484
HEALTHCHECK --start-period=20s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8484/healthz', timeout=3)"]
# Without API keys in the settings it refuses to start at this address.
CMD ["evidencerails", "serve", "--config", "/etc/evidencerails/settings.yml", "--host", "0.0.0.0"]
