// SPDX-License-Identifier: MIT
#pragma once

// write_onnx() writes a network as an ONNX file. It is not part of cairn.hpp, as most programs write none.
#include <cairn/train/onnx/attention_operators.hpp>
#include <cairn/train/onnx/block_operators.hpp>
#include <cairn/train/onnx/elementwise_operators.hpp>
#include <cairn/train/onnx/graph.hpp>
#include <cairn/train/onnx/image_operators.hpp>
#include <cairn/train/onnx/layer_writer.hpp>
#include <cairn/train/onnx/messages.hpp>
#include <cairn/train/onnx/model_file.hpp>
#include <cairn/train/onnx/network_graph.hpp>
#include <cairn/train/onnx/norm_operators.hpp>
#include <cairn/train/onnx/operators.hpp>
#include <cairn/train/onnx/product_operators.hpp>
#include <cairn/train/onnx/protobuf.hpp>
#include <cairn/train/onnx/write_onnx.hpp>
