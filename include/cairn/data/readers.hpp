// SPDX-License-Identifier: MIT
#pragma once

// Readers and writers of data in files: IDX and MNIST, CIFAR-10 and CIFAR-100, .npy, CSV. They are not part of cairn.hpp, as a
// program needs one of them at most. Those of safetensors (cairn/data/safetensors.hpp)
// and of images (cairn/data/images/image_folder.hpp) are components.
#include <cairn/data/cifar.hpp>
#include <cairn/data/csv/csv.hpp>
#include <cairn/data/csv/csv_column.hpp>
#include <cairn/data/csv/csv_rows.hpp>
#include <cairn/data/idx.hpp>
#include <cairn/data/mnist.hpp>
#include <cairn/data/npy.hpp>
