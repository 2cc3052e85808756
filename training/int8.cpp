// Kernels of int8.py: matrices of floats to int8 with a scale a row or a column, and sums of products back to floats.
#include <torch/extension.h>
#include <ATen/Parallel.h>
#include <cmath>
#include <tuple>

using torch::Tensor;

static inline float scale_of(float largest) { return std::max(largest, 1e-12f) / 127.0f; }

// (rows, columns) -> int8 and (rows) scales; a row stays in the cache between its two passes.
std::tuple<Tensor, Tensor> by_rows(const Tensor& values) {
  const int64_t rows = values.size(0), columns = values.size(1);
  Tensor whole = torch::empty({rows, columns}, torch::kInt8), scales = torch::empty({rows}, torch::kFloat);
  const float* in = values.data_ptr<float>();
  int8_t* out = whole.data_ptr<int8_t>();
  float* scale = scales.data_ptr<float>();
  at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = in + row * columns;
      int8_t* to = out + row * columns;
      float largest = 0;
      for (int64_t n = 0; n < columns; ++n) largest = std::max(largest, std::fabs(from[n]));
      scale[row] = scale_of(largest);
      const float factor = 1.0f / scale[row];
      for (int64_t n = 0; n < columns; ++n) to[n] = static_cast<int8_t>(std::nearbyint(from[n] * factor));
    }
  });
  return {whole, scales};
}

// (rows, columns) -> int8 and (columns) scales; blocks of columns stay in the cache between their two passes.
std::tuple<Tensor, Tensor> by_columns(const Tensor& values) {
  const int64_t rows = values.size(0), columns = values.size(1), width = 128;
  Tensor whole = torch::empty({rows, columns}, torch::kInt8), scales = torch::empty({columns}, torch::kFloat);
  const float* in = values.data_ptr<float>();
  int8_t* out = whole.data_ptr<int8_t>();
  float* scale = scales.data_ptr<float>();
  at::parallel_for(0, (columns + width - 1) / width, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * width, wide = std::min(width, columns - first);
      alignas(64) float largest[128] = {0}, factor[128];
      for (int64_t row = 0; row < rows; ++row) {
        const float* from = in + row * columns + first;
        for (int64_t n = 0; n < wide; ++n) largest[n] = std::max(largest[n], std::fabs(from[n]));
      }
      for (int64_t n = 0; n < wide; ++n) {
        scale[first + n] = scale_of(largest[n]);
        factor[n] = 1.0f / scale[first + n];
      }
      for (int64_t row = 0; row < rows; ++row) {
        const float* from = in + row * columns + first;
        int8_t* to = out + row * columns + first;
        for (int64_t n = 0; n < wide; ++n) to[n] = static_cast<int8_t>(std::nearbyint(from[n] * factor[n]));
      }
    }
  });
  return {whole, scales};
}

// Sums of products (rows, columns), scales of rows and columns, a bias of columns -> floats.
Tensor scaled(const Tensor& sums, const Tensor& row_scales, const Tensor& column_scales, const Tensor& bias) {
  const int64_t rows = sums.size(0), columns = sums.size(1);
  Tensor result = torch::empty({rows, columns}, torch::kFloat);
  const int32_t* in = sums.data_ptr<int32_t>();
  const float *by_row = row_scales.data_ptr<float>(), *by_column = column_scales.data_ptr<float>();
  const float* more = bias.numel() ? bias.data_ptr<float>() : nullptr;
  float* out = result.data_ptr<float>();
  at::parallel_for(0, rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int32_t* from = in + row * columns;
      float* to = out + row * columns;
      const float scale = by_row[row];
      if (more)
        for (int64_t n = 0; n < columns; ++n) to[n] = static_cast<float>(from[n]) * scale * by_column[n] + more[n];
      else
        for (int64_t n = 0; n < columns; ++n) to[n] = static_cast<float>(from[n]) * scale * by_column[n];
    }
  });
  return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("by_rows", &by_rows);
  module.def("by_columns", &by_columns);
  module.def("scaled", &scaled);
}
