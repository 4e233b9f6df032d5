// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <cairn/core/explain.hpp>

// The ways in which a network can be wrong, as diagnostics of an error (core/explain.hpp). The most common one, joint, is in
// net/joint.hpp.

namespace cairn::detail {

struct empty_network_message {
  template <class Net>
  static constexpr bool right() {
    static_assert(is_right<Net>, "Sequential: a network has at least one layer; see empty_network<type>");
    return false;
  }
};

struct empty_checkpoint_message {
  template <class Checkpoint>
  static constexpr bool right() {
    static_assert(is_right<Checkpoint>, "checkpoint: the network inside has no layer, so there is nothing to "
                                        "store or to make again; see empty_checkpoint<type>");
    return false;
  }
};

struct empty_residual_message {
  template <class Block>
  static constexpr bool right() {
    static_assert(is_right<Block>, "Residual: it needs at least one layer, whose result is added to the "
                                   "input; see empty_residual<type>");
    return false;
  }
};

struct empty_shortcut_message {
  template <class Block>
  static constexpr bool right() {
    static_assert(is_right<Block>,
                  "Residual: its shortcut and the layers behind that have at least one layer each; where the input "
                  "itself is added, leave shortcut<> out; see empty_shortcut<type>");
    return false;
  }
};

struct misplaced_shortcut_message {
  template <class Block>
  static constexpr bool right() {
    static_assert(is_right<Block>, "Residual: its shortcut is its first argument, and there is one; write "
                                   "Residual<shortcut<P...>, Layers...>; see misplaced_shortcut<type>");
    return false;
  }
};

struct empty_repeat_message {
  template <class Block>
  static constexpr bool right() {
    static_assert(is_right<Block>,
                  "Repeat: Repeat<N, Block> is N blocks one after another, at least one; see empty_repeat<type>");
    return false;
  }
};

struct begins_with_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(is_right<Layer>, "Sequential: the first layer takes inputs of any shape, so the network's is "
                                   "not known; put Input<extents...> before it; see begins_with<layer>");
    return false;
  }
};

struct begins_with_integers_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(is_right<Layer>, "Sequential: the first layer takes integers, and does not say how many in a sample; put "
                                   "Inputs<integers<10>> before it, for 10 tokens; see begins_with_integers<layer>");
    return false;
  }
};

struct residual_ends_message {
  template <class Ends>
  static constexpr bool right() {
    static_assert(is_right<Ends>, "Residual: its layers give another shape than they take, so the input cannot be added; see "
                                  "residual_ends<block, dims<what it takes>, dims<what it gives>>");
    return false;
  }
};

struct shortcut_ends_message {
  template <class Ends>
  static constexpr bool right() {
    static_assert(is_right<Ends>,
                  "Residual: its shortcut and its layers each make one tensor of the input, of the same shape, and here they "
                  "cannot be added; see shortcut_ends<block, dims<what they take>, dims<what the shortcut gives>, "
                  "dims<what the layers give>>");
    return false;
  }
};

struct repeated_joint_message {
  template <class Joint>
  static constexpr bool right() {
    static_assert(is_right<Joint>, "Repeat: the block gives another shape than it takes, so it cannot follow itself; see "
                                   "repeated_joint<position, producer, dims<what it produces>, consumer>");
    return false;
  }
};

struct misplaced_update_message {
  template <class Update>
  static constexpr bool right() {
    static_assert(
        is_right<Update>,
        "fused_update: it is a way to train a whole network and stands around all of it, as with_input_gradient "
        "and with_all_outputs do: fused_update<Sequential<...>>, fused_update<checkpoint<Policy, Sequential<...>>>; see "
        "misplaced_update<type>");
    return false;
  }
};

struct shape_at_run_time_message {
  template <class Layer>
  static constexpr bool right() {
    static_assert(is_right<Layer>,
                  "layer: outputs (or accepts) is no constant expression for what arrives; is it constexpr, and has its "
                  "result at most 8 tensors of at most 8 extents? See shape_at_run_time<position, layer>");
    return false;
  }
};

struct unused_message {
  template <class Stage>
  static constexpr bool right() {
    static_assert(
        is_right<Stage>,
        "Sequential: what the layer at this position makes is used by no layer after it and not by the loss, "
        "which takes the first tensor; leave the layer out, or, if it makes another output, train with_all_outputs<Net> by "
        "step_by(); see unused<position, layer>");
    return false;
  }
};

struct unused_tensor_message {
  template <class Stage>
  static constexpr bool right() {
    static_assert(is_right<Stage>,
                  "Sequential: one of the tensors that the layer at this position makes is used by no layer after it and not "
                  "by the loss, which takes the first; leave it out, or, if it is another output, train with_all_outputs<Net> by "
                  "step_by(); see unused_tensor<position, tensor (0 is the first), layer>");
    return false;
  }
};

struct output_without_gradient_message {
  template <class Net>
  static constexpr bool right() {
    static_assert(is_right<Net>,
                  "with_all_outputs: expected a network whose outputs are all numbers with a gradient, one for each sample, and "
                  "found integers, one tensor for the batch or one without a gradient among them; let the last layer take it, or "
                  "leave with_all_outputs out; see output_without_gradient<network>");
    return false;
  }
};

struct misplaced_head_message {
  template <class Net>
  static constexpr bool right() {
    static_assert(is_right<Net>, "head_in_strips: it is the last element of the whole network, before the loss, and takes one "
                                 "tensor; inside of a block, before another layer, under with_all_outputs or with a tensor that "
                                 "passes by, write the layer alone; see misplaced_head<network>");
    return false;
  }
};

// A network without a layer.
template <class Net>
struct empty_network : empty_network_message {};

// A checkpoint<Policy, Net> whose Net has no layer, a Residual without one, a Repeat of no block.
template <class Checkpoint>
struct empty_checkpoint : empty_checkpoint_message {};
template <class Block>
struct empty_residual : empty_residual_message {};
template <class Block>
struct empty_repeat : empty_repeat_message {};

// A Residual whose shortcut has no layer, or that has none after the shortcut; one whose shortcut is misplaced.
template <class Block>
struct empty_shortcut : empty_shortcut_message {};
template <class Block>
struct misplaced_shortcut : misplaced_shortcut_message {};

// A first layer that does not say what it takes.
template <class Layer>
struct begins_with : begins_with_message {};
template <class Layer>
struct begins_with_integers : begins_with_integers_message {};

// A Residual that takes one shape and gives another.
template <class Block, class Takes, class Gives>
struct residual_ends : residual_ends_message {};

// A Residual whose shortcut gives another shape than its layers.
template <class Block, class Takes, class OfShortcut, class OfLayers>
struct shortcut_ends : shortcut_ends_message {};

// The place in a repeated block where its second round does not begin like the first.
template <std::size_t Position, class Producer, class Produces, class Consumer>
struct repeated_joint : repeated_joint_message {};

// A fused update of a part of a network.
template <class Update>
struct misplaced_update : misplaced_update_message {};

// A stage whose outputs are all unused: no gradient reaches it, so it can learn nothing.
template <std::size_t Position, class Stage>
struct unused : unused_message {};
// The same for one tensor of a stage that makes several.
template <std::size_t Position, std::size_t Tensor, class Stage>
struct unused_tensor : unused_tensor_message {};

// A network under with_all_outputs with an output that cannot have a loss.
template <class Net>
struct output_without_gradient : output_without_gradient_message {};

// A layer whose shapes the compiler cannot evaluate.
template <std::size_t Position, class Layer>
struct shape_at_run_time : shape_at_run_time_message {};

// A head_in_strips that is not the last element of a whole network.
template <class Net>
struct misplaced_head : misplaced_head_message {};

} // namespace cairn::detail
