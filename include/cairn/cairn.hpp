// SPDX-License-Identifier: MIT
// The roof: every header that needs neither a CUDA compiler nor an optional component, from the ground floor up.
#pragma once

#include <cairn/core/accumulated.hpp>   // the type in which sums are kept
#include <cairn/core/batch.hpp>         // the most samples of a step, as a type
#include <cairn/core/bfloat16.hpp>      // the upper half of a float
#include <cairn/core/build.hpp>         // compiler settings that affect the bits of results
#include <cairn/core/config.hpp>        // the version, and the only macros
#include <cairn/core/constant_sqrt.hpp> // the square root as a constant expression
#include <cairn/core/deadline.hpp>      // the time until which to wait
#include <cairn/core/element.hpp>       // the element types of a tensor
#include <cairn/core/error.hpp>         // the exceptions
#include <cairn/core/explain.hpp>       // types that are printed in an error
#include <cairn/core/float16.hpp>       // IEEE 754 binary16
#include <cairn/core/fraction.hpp>      // a number as a template argument
#include <cairn/core/memory.hpp>        // bytes and alignment
#include <cairn/core/pack.hpp>          // a list of types, each at a position
#include <cairn/core/plain_array.hpp>   // room for items, with a size known to the compiler or at run time
#include <cairn/core/random.hpp>        // random numbers as a function of seed, step and position
#include <cairn/core/random_normal.hpp> // normal numbers from random_key
#include <cairn/core/rooms.hpp>         // namespaces
#include <cairn/core/rounded_bits.hpp>  // a double rounded to 16 bits
#include <cairn/core/shape.hpp>         // the extents of one sample
#include <cairn/core/tensor.hpp>        // the description of one tensor, and a list of them
#include <cairn/core/tensor_types.hpp>  // descriptions of tensors as types
#include <cairn/core/tensors.hpp>       // the memory of a list of tensors
#include <cairn/core/view.hpp>          // borrowed memory as a matrix or a tensor

#include <cairn/plan/buckets.hpp>          // which gradients are reduced together, and after which op
#include <cairn/plan/chain.hpp>            // the costs of every stage, and what it keeps and reads
#include <cairn/plan/checked_policy.hpp>   // a policy that cannot plan, as a diagnostic
#include <cairn/plan/fingerprint.hpp>      // one number that all ranks share
#include <cairn/plan/fusion.hpp>           // which stages one op computes
#include <cairn/plan/gradient_windows.hpp> // the places of gradients that are used inside backward
#include <cairn/plan/kept.hpp>             // what is kept until after the loss
#include <cairn/plan/memory_plan.hpp>      // the place of every buffer, and the peak
#include <cairn/plan/op.hpp>               // one op of a schedule
#include <cairn/plan/operands.hpp>         // the places where an op reads and writes
#include <cairn/plan/plan_of.hpp>          // schedule, places and buckets of a chain, in arrays of exact size
#include <cairn/plan/plan_route.hpp>       // plans a route at run time
#include <cairn/plan/policies.hpp>         // what is stored and what is recomputed
#include <cairn/plan/proof.hpp>            // proves that a schedule is right
#include <cairn/plan/revolve.hpp>          // the fewest forwards for a number of stored inputs
#include <cairn/plan/route.hpp>            // the order of forwards and backwards along a chain
#include <cairn/plan/run_time_plan.hpp>    // a plan made at run time
#include <cairn/plan/schedule.hpp>         // the ops of one step

#include <cairn/device/cores.hpp>           // the number of cores for a rank's threads
#include <cairn/device/cpu.hpp>             // the CPU as a device
#include <cairn/device/device.hpp>          // the concept: where bytes are, and in what order work is done
#include <cairn/device/huge_pages.hpp>      // requests huge pages for large blocks
#include <cairn/device/instruction_set.hpp> // what this CPU supports
#include <cairn/device/wait_on_host.hpp>    // the one wait for a device, with a deadline
#include <cairn/device/workers.hpp>         // the threads inside one operation

#include <cairn/data/batches_of_heads.hpp>       // batches with targets of several types: multi::batches
#include <cairn/data/checksum.hpp>               // a checksum of bytes
#include <cairn/data/class_probabilities.hpp>    // probabilities of classes as targets
#include <cairn/data/color_jitter.hpp>           // brightness, contrast, saturation and hue of an image
#include <cairn/data/compose.hpp>                // several transforms as one
#include <cairn/data/crc32c.hpp>                 // the checksum of event files
#include <cairn/data/dataset.hpp>                // the concept: numbered samples
#include <cairn/data/dataset_fingerprint.hpp>    // a number that identifies a dataset
#include <cairn/data/distributed_sampler.hpp>    // which samples a rank reads in an epoch, shuffled
#include <cairn/data/feature_statistics.hpp>     // the mean and the deviation of each feature
#include <cairn/data/file.hpp>                   // a file that is written completely or not at all
#include <cairn/data/image_dataset.hpp>          // bytes of pixels, scaled as they are read
#include <cairn/data/image_part.hpp>             // the extents of an image, and a part that is drawn
#include <cairn/data/input_types.hpp>            // the inputs of a sample, one or several
#include <cairn/data/loader.hpp>                 // batches of a dataset, made ahead by threads
#include <cairn/data/loader_options.hpp>         // the options of a loader, and its position
#include <cairn/data/loader_without_batch.hpp>   // the error of a loader without batch<N>
#include <cairn/data/make_folder.hpp>            // makes the folders of files to be written
#include <cairn/data/minibatch.hpp>              // the batch that a loader returns
#include <cairn/data/mixup.hpp>                  // mixes samples with others
#include <cairn/data/more_targets.hpp>           // a dataset with more targets of each sample
#include <cairn/data/number_of_text.hpp>         // a text as a number
#include <cairn/data/owned_tensor.hpp>           // rows of samples that own their memory
#include <cairn/data/permutation.hpp>            // a shuffle that depends on its seed alone
#include <cairn/data/pixel_scale.hpp>            // the number that a byte of a pixel becomes
#include <cairn/data/pixel_value.hpp>            // one number for all channels, or one for each
#include <cairn/data/prefetch.hpp>               // makes items before they are asked for
#include <cairn/data/random_crop.hpp>            // a random part of a padded image
#include <cairn/data/random_erasing.hpp>         // a rectangle of an image is filled
#include <cairn/data/random_horizontal_flip.hpp> // swaps left and right
#include <cairn/data/random_resized_crop.hpp>    // a part of an image, as large as the image
#include <cairn/data/random_rotation.hpp>        // an image is turned
#include <cairn/data/random_shift.hpp>           // moves an image by a few pixels
#include <cairn/data/random_split.hpp>           // a dataset in parts, to train and to validate with
#include <cairn/data/resampled.hpp>              // an image between its pixels
#include <cairn/data/safetensors_header.hpp>     // the header of a safetensors file
#include <cairn/data/sample_order.hpp>           // the concept: which samples, in what order
#include <cairn/data/sequential_sampler.hpp>     // every sample once, in order
#include <cairn/data/step_samples.hpp>           // a hash of the samples of the steps of an epoch
#include <cairn/data/subset.hpp>                 // some samples of a dataset
#include <cairn/data/target_transform.hpp>       // a dataset with other targets
#include <cairn/data/tensor_dataset.hpp>         // samples in borrowed memory
#include <cairn/data/transform.hpp>              // the concept: a change of one input
#include <cairn/data/weighted_sampler.hpp>       // samples drawn by weights, such as rare classes more often

#include <cairn/ops/activation.hpp>                                  // activations that a product can apply to its result
#include <cairn/ops/adam/adam.hpp>                                   // one update of Adam and AdamW
#include <cairn/ops/adam/cpu.hpp>                                    // adam on a cpu
#include <cairn/ops/add/add.hpp>                                     // the sum of two tensors
#include <cairn/ops/add/cpu.hpp>                                     // add on a cpu
#include <cairn/ops/alike.hpp>                                       // matrices of the same extents
#include <cairn/ops/attention/attention.hpp>                         // attention of queries over keys, head by head
#include <cairn/ops/attention/cpu.hpp>                               // attention on a cpu
#include <cairn/ops/avg_pool2d/avg_pool2d.hpp>                       // the mean of every window of an image
#include <cairn/ops/avg_pool2d/cpu.hpp>                              // avg pool2d on a cpu
#include <cairn/ops/batch_norm/batch_norm.hpp>                       // features of mean 0 and variance 1 over a batch
#include <cairn/ops/batch_norm/cpu.hpp>                              // batch norm on a cpu
#include <cairn/ops/bce_with_logits/bce_with_logits.hpp>             // cross entropy of yes or no, from logits
#include <cairn/ops/bce_with_logits/cpu.hpp>                         // bce with logits on a cpu
#include <cairn/ops/channel_statistics/channel_statistics.hpp>       // means and variances of channels, shared by norms
#include <cairn/ops/channel_statistics/cpu.hpp>                      // channel statistics on a cpu
#include <cairn/ops/check_gradients/check_gradients.hpp>             // whether a step's update is skipped, decided on a device
#include <cairn/ops/check_gradients/cpu.hpp>                         // check gradients on a cpu
#include <cairn/ops/checksum/checksum.hpp>                           // a checksum of the bits of an array
#include <cairn/ops/checksum/cpu.hpp>                                // checksum on a cpu
#include <cairn/ops/clip/clip.hpp>                                   // the factor that clips gradients by their norm
#include <cairn/ops/clip/cpu.hpp>                                    // clip on a cpu
#include <cairn/ops/conv2d/conv2d.hpp>                               // the convolution of images
#include <cairn/ops/conv2d/cpu.hpp>                                  // conv2d on a cpu
#include <cairn/ops/convert/convert.hpp>                             // elements as those of another type
#include <cairn/ops/convert/cpu.hpp>                                 // convert on a cpu
#include <cairn/ops/copy/copy.hpp>                                   // copies elements
#include <cairn/ops/copy/cpu.hpp>                                    // copy on a cpu
#include <cairn/ops/cpu.hpp>                                         // every op on a cpu
#include <cairn/ops/dropout/cpu.hpp>                                 // dropout on a cpu
#include <cairn/ops/dropout/dropout.hpp>                             // sets elements to zero at random
#include <cairn/ops/dropout/reference.hpp>                           // the formula of dropout
#include <cairn/ops/elementwise/cpu.hpp>                             // elementwise on a cpu
#include <cairn/ops/elementwise/elementwise.hpp>                     // a function of elements, for layers of one's own
#include <cairn/ops/embedding/cpu.hpp>                               // embedding on a cpu
#include <cairn/ops/embedding/embedding.hpp>                         // rows of a table by their indices
#include <cairn/ops/group_norm/cpu.hpp>                              // group norm on a cpu
#include <cairn/ops/group_norm/group_norm.hpp>                       // groups of channels of mean 0 and variance 1
#include <cairn/ops/input_tiles.hpp>                                 // tiles of an image that windows add gradients to
#include <cairn/ops/layer_norm/cpu.hpp>                              // layer norm on a cpu
#include <cairn/ops/layer_norm/layer_norm.hpp>                       // rows of mean 0 and variance 1
#include <cairn/ops/matmul/cpu.hpp>                                  // matmul on a cpu
#include <cairn/ops/matmul/matmul.hpp>                               // the product of two matrices, with fusions
#include <cairn/ops/matmul/reference.hpp>                            // the formula of the product
#include <cairn/ops/max_pool2d/cpu.hpp>                              // max pool2d on a cpu
#include <cairn/ops/max_pool2d/max_pool2d.hpp>                       // the maximum of every window of an image
#include <cairn/ops/mean_factor/cpu.hpp>                             // mean factor on a cpu
#include <cairn/ops/mean_factor/mean_factor.hpp>                     // the factor from a sum over ranks to a mean
#include <cairn/ops/mean_of_terms/cpu.hpp>                           // means of terms on a cpu
#include <cairn/ops/mean_of_terms/mean_of_terms.hpp>                 // a loss that is a mean over elements, and its gradient
#include <cairn/ops/normalized_conv2d/cpu.hpp>                       // normalized conv2d on a cpu
#include <cairn/ops/normalized_conv2d/normalized_conv2d.hpp>         // a norm, a ReLU and a convolution in one
#include <cairn/ops/normalized_product/cpu.hpp>                      // normalized product on a cpu
#include <cairn/ops/normalized_product/normalized_product.hpp>       // a norm, a ReLU and a product in one
#include <cairn/ops/ops.hpp>                                         // the ops that a device must provide
#include <cairn/ops/positions/cpu.hpp>                               // positions on a cpu
#include <cairn/ops/positions/positions.hpp>                         // a row for each position of a sequence
#include <cairn/ops/queue_without_this_op.hpp>                       // an op that a device lacks, as a diagnostic
#include <cairn/ops/rms_norm/cpu.hpp>                                // RMS norm on a cpu
#include <cairn/ops/rms_norm/rms_norm.hpp>                           // rows of mean square 1
#include <cairn/ops/rotation/cpu.hpp>                                // rotation on a cpu
#include <cairn/ops/rotation/rotation.hpp>                           // pairs of elements turned by their position
#include <cairn/ops/sgd/cpu.hpp>                                     // sgd on a cpu
#include <cairn/ops/sgd/sgd.hpp>                                     // one update of SGD
#include <cairn/ops/soft_cross_entropy/cpu.hpp>                      // soft cross entropy on a cpu
#include <cairn/ops/soft_cross_entropy/soft_cross_entropy.hpp>       // cross entropy with probabilities of classes
#include <cairn/ops/softmax/cpu.hpp>                                 // softmax on a cpu
#include <cairn/ops/softmax/softmax.hpp>                             // rows of probabilities
#include <cairn/ops/softmax_cross_entropy/cpu.hpp>                   // softmax cross entropy on a cpu
#include <cairn/ops/softmax_cross_entropy/softmax_cross_entropy.hpp> // -log softmax at a class, averaged
#include <cairn/ops/squared_norm/cpu.hpp>                            // squared norm on a cpu
#include <cairn/ops/squared_norm/squared_norm.hpp>                   // the sum of squares
#include <cairn/ops/standardize/cpu.hpp>                             // standardize on a cpu
#include <cairn/ops/standardize/standardize.hpp>                     // features minus their means, divided by their deviations
#include <cairn/ops/transfer/cpu.hpp>                                // transfer on a cpu
#include <cairn/ops/transfer/transfer.hpp>                           // copies between the host and a device
#include <cairn/ops/window.hpp>                                      // how a window moves over images

#include <cairn/comm/call_purpose.hpp>         // the purpose of a call
#include <cairn/comm/checked_communicator.hpp> // a type that is no communicator, as a diagnostic
#include <cairn/comm/communicator.hpp>         // the concept: joins the ranks of one job
#include <cairn/comm/different_calls.hpp>      // ranks that make different calls, as text
#include <cairn/comm/exchange.hpp>             // every value of every rank, for all ranks
#include <cairn/comm/first_failure.hpp>        // the first failure of a job, and its exception
#include <cairn/comm/launch/chosen_ranks.hpp>  // the kind of ranks that fits how the program was started
#include <cairn/comm/launch/launch.hpp>        // which process of the job this is
#include <cairn/comm/lent_memory.hpp>          // a communicator's memory, in which spans are summed
#include <cairn/comm/long_wait.hpp>            // a wait that reports itself when it is long
#include <cairn/comm/loopback.hpp>             // one rank alone
#include <cairn/comm/numbered_call.hpp>        // a pending call, identified by a number
#include <cairn/comm/rank_call.hpp>            // the arguments of one call of one rank
#include <cairn/comm/sum_of_ranks.hpp>         // sums in the order of the ranks
#include <cairn/comm/termination.hpp>          // SIGTERM as a job's communicator sees it
#include <cairn/comm/threads/threads.hpp>      // the ranks of a job as threads of one process
#include <cairn/comm/through_host.hpp>         // a device whose memory a communicator cannot access

#include <cairn/layer/adaptive_avg_pool2d.hpp>     // AdaptiveAvgPool2d<Height, Width>
#include <cairn/layer/attention.hpp>               // attention::core: attention without projections
#include <cairn/layer/attention_constants.hpp>     // the constants that an attention reads
#include <cairn/layer/attention_extras.hpp>        // what its options read of a call
#include <cairn/layer/attention_options.hpp>       // masks, key_heads<N>, dropout<P>
#include <cairn/layer/avg_pool2d.hpp>              // AvgPool2d<Kernel>
#include <cairn/layer/batch_norm.hpp>              // BatchNorm1d<Features>, BatchNorm2d<Channels>
#include <cairn/layer/checked_calls.hpp>           // a layer that cannot be called, as a diagnostic
#include <cairn/layer/checked_layer.hpp>           // a type that is no layer, as a diagnostic
#include <cairn/layer/conv2d.hpp>                  // Conv2d<In, Out, Kernel>
#include <cairn/layer/cross_attention.hpp>         // attention::cross_core: the same of two tensors
#include <cairn/layer/dense/dense_bottleneck.hpp>  // the first half of a layer of DenseBlock
#include <cairn/layer/dense/dense_growth.hpp>      // the second half of it
#include <cairn/layer/dense/dense_half.hpp>        // the common part of both halves
#include <cairn/layer/dense/dense_transition.hpp>  // the layer between two DenseBlocks
#include <cairn/layer/describe.hpp>                // the properties that a layer states, with defaults
#include <cairn/layer/description.hpp>             // the properties of one element of a chain
#include <cairn/layer/dropout.hpp>                 // Dropout
#include <cairn/layer/elementwise_layer.hpp>       // a layer that changes each element by itself
#include <cairn/layer/elu.hpp>                     // ELU<Alpha>
#include <cairn/layer/embedding.hpp>               // Embedding<Vocabulary, Width>
#include <cairn/layer/flatten.hpp>                 // Flatten
#include <cairn/layer/float_border.hpp>            // where values enter an in_float, and where they leave it
#include <cairn/layer/float_layer.hpp>             // a layer inside of an in_float
#include <cairn/layer/gelu.hpp>                    // GELU
#include <cairn/layer/gradient_check.hpp>          // checks the gradients of a layer, for its author
#include <cairn/layer/group_norm.hpp>              // GroupNorm<Groups, Channels>
#include <cairn/layer/head_in_strips.hpp>          // a last layer, the loss and both gradients by strips of rows
#include <cairn/layer/inputs.hpp>                  // several tensors and constants for a network
#include <cairn/layer/kept_tokens.hpp>             // what layers keep of the tokens of a text
#include <cairn/layer/layer.hpp>                   // the concept: a function and its derivative
#include <cairn/layer/layer_members.hpp>           // the forms of the members of a layer
#include <cairn/layer/layer_norm.hpp>              // LayerNorm<Features>
#include <cairn/layer/layer_sums.hpp>              // the sums of a layer over the ranks
#include <cairn/layer/leaky_relu.hpp>              // LeakyReLU<Slope>
#include <cairn/layer/learned_positions.hpp>       // LearnedPositions<Positions, Width>
#include <cairn/layer/linear.hpp>                  // Linear<In, Out>
#include <cairn/layer/loss_in_strips.hpp>          // the loss of a strip of rows of the output
#include <cairn/layer/max_pool2d.hpp>              // MaxPool2d<Kernel>
#include <cairn/layer/read_attention_options.hpp>  // what the options of an attention say
#include <cairn/layer/real_arguments.hpp>          // what arrives in an in_float, as its layers describe it
#include <cairn/layer/recurrent/gate_products.hpp> // the parameters and products of a recurrent cell
#include <cairn/layer/recurrent/gru_cell.hpp>      // GRUCell<In, Hidden>
#include <cairn/layer/recurrent/gru_formulas.hpp>  // the formulas of a GRUCell
#include <cairn/layer/recurrent/lstm_cell.hpp>     // LSTMCell<In, Hidden>
#include <cairn/layer/recurrent/lstm_formulas.hpp> // the formulas of an LSTMCell
#include <cairn/layer/relu.hpp>                    // ReLU
#include <cairn/layer/rms_norm.hpp>                // RMSNorm<Features>
#include <cairn/layer/rotary_embedding.hpp>        // RotaryEmbedding<Heads, KeyHeads>
#include <cairn/layer/sigmoid.hpp>                 // Sigmoid
#include <cairn/layer/silu.hpp>                    // SiLU
#include <cairn/layer/sinusoidal_positions.hpp>    // SinusoidalPositions
#include <cairn/layer/softmax.hpp>                 // Softmax
#include <cairn/layer/standardize.hpp>             // preprocess::Standardize<Features>
#include <cairn/layer/started.hpp>                 // a layer with other initial values, normal_weights
#include <cairn/layer/sum.hpp>                     // Sum<Layers...>: of a tensor each
#include <cairn/layer/tanh.hpp>                    // Tanh
#include <cairn/layer/tanh_gelu.hpp>               // TanhGELU: GELU with tanh
#include <cairn/layer/term_of_sum.hpp>             // one of the layers of a Sum
#include <cairn/layer/tied.hpp>                    // Tied: a layer with the weight of another
#include <cairn/layer/window_options.hpp>          // stride, padding and other options of Conv2d and pools

#include <cairn/net/block_ways.hpp>                // the ways of a block: what it stores
#include <cairn/net/blueprint.hpp>                 // all that is known of a step at compile time
#include <cairn/net/checked_network.hpp>           // finds the first error of a network
#include <cairn/net/checkpoint.hpp>                // checkpoint<Policy, Net>: the same function, another schedule
#include <cairn/net/concat.hpp>                    // several branches, with their results side by side
#include <cairn/net/cross_attention.hpp>           // MultiheadAttention<C, Heads, attention::cross>
#include <cairn/net/dense/dense_block.hpp>         // DenseBlock<Layers, Growth>
#include <cairn/net/dense/dense_policies.hpp>      // which bottlenecks of a DenseBlock are stored
#include <cairn/net/elements.hpp>                  // joins packs of elements
#include <cairn/net/execute.hpp>                   // runs a program
#include <cairn/net/frame.hpp>                     // the operands of one walk of a chain
#include <cairn/net/frozen.hpp>                    // parts with parameters that are not trained
#include <cairn/net/function_of.hpp>               // the function of a network, without its schedule
#include <cairn/net/fused_update.hpp>              // the same training, updating inside backward
#include <cairn/net/gated.hpp>                     // y = f(x) g(x), element by element: Gated<F, G>
#include <cairn/net/head.hpp>                      // a last layer whose output a step makes in strips of rows
#include <cairn/net/heads.hpp>                     // several heads on one body, each with an output: multi::Heads
#include <cairn/net/in_float.hpp>                  // in_float<Layers...>
#include <cairn/net/initialized.hpp>               // initialized<Part, Start>
#include <cairn/net/inner_blueprints.hpp>          // the blueprints of the chains in a block
#include <cairn/net/joint.hpp>                     // two layers that do not fit, and why
#include <cairn/net/largest_batch.hpp>             // the largest batch whose step fits, as a constant
#include <cairn/net/largest_batch_within.hpp>      // the same at run time, and with measured costs
#include <cairn/net/made_of.hpp>                   // the structure of a network's types
#include <cairn/net/memory_curve.hpp>              // the cost of a step for every number of bytes
#include <cairn/net/multihead_attention.hpp>       // MultiheadAttention<C, Heads>
#include <cairn/net/named_part.hpp>                // parts of a composite with names of their own
#include <cairn/net/nesting.hpp>                   // the nesting of Sequentials, for names
#include <cairn/net/one_chain.hpp>                 // a block that is one chain
#include <cairn/net/pass_on.hpp>                   // passes on tensors that a layer does not take
#include <cairn/net/program.hpp>                   // a blueprint with code
#include <cairn/net/repeat.hpp>                    // Repeat<N, Block>
#include <cairn/net/residual.hpp>                  // Residual<Layers...>
#include <cairn/net/sequential.hpp>                // Sequential<Layers...>
#include <cairn/net/several_chains.hpp>            // the common part of blocks of several chains
#include <cairn/net/solved_step.hpp>               // a schedule solved at run time, for a trainer
#include <cairn/net/summed_layers.hpp>             // the layers that sum over the ranks
#include <cairn/net/ties.hpp>                      // stages that take a parameter from another stage
#include <cairn/net/transformer_decoder_layer.hpp> // TransformerDecoderLayer<C, Heads, Feedforward>
#include <cairn/net/transformer_encoder_layer.hpp> // TransformerEncoderLayer<C, Heads, Feedforward>
#include <cairn/net/transformers.hpp>              // GPT-2 and BERT
#include <cairn/net/unroll.hpp>                    // steps of a cell: Unroll<T, Cell>
#include <cairn/net/unroll_step.hpp>               // the stages of an Unroll
#include <cairn/net/walk.hpp>                      // the values along a chain
#include <cairn/net/ways.hpp>                      // the ways that blocks take under a budget
#include <cairn/net/with_all_outputs.hpp>          // several heads on one body
#include <cairn/net/with_input_gradient.hpp>       // the gradient with respect to the inputs
#include <cairn/net/wrong_network.hpp>             // the ways in which a network can be wrong

#include <cairn/train/checked_training.hpp>               // finds the first argument of a trainer that does not fit
#include <cairn/train/constant_model.hpp>                 // a trained network whose weights are constants of the program
#include <cairn/train/context_pool.hpp>                   // execution contexts of a model, for concurrent calls
#include <cairn/train/ddp.hpp>                            // ddp<Model, Communicator>
#include <cairn/train/execution_context.hpp>              // the memory that the passes of one caller write
#include <cairn/train/fit/accuracy.hpp>                   // how often the largest output is the right class
#include <cairn/train/fit/auroc.hpp>                      // the area under the ROC curve
#include <cairn/train/fit/classification.hpp>             // precision, recall, F1 and top-k accuracy
#include <cairn/train/fit/confusion_matrix.hpp>           // which classes are taken for which
#include <cairn/train/fit/decisions.hpp>                  // outputs and targets of classes, one by one
#include <cairn/train/fit/early_stopping.hpp>             // a callback of fit that stops when a metric no longer improves
#include <cairn/train/fit/ema.hpp>                        // moving averages of the parameters
#include <cairn/train/fit/fit.hpp>                        // epochs, validation, callbacks: the training loop
#include <cairn/train/fit/metrics.hpp>                    // accuracy, perplexity and others over batches and ranks
#include <cairn/train/fit/of_head.hpp>                    // the metric of one of several heads
#include <cairn/train/fit/validation.hpp>                 // a callback of fit that evaluates the network
#include <cairn/train/fixed_session.hpp>                  // evaluates a network for a thread with a deadline
#include <cairn/train/host_copy.hpp>                      // a copy of a device's data that the host can access
#include <cairn/train/input_arrays.hpp>                   // several arrays as the inputs of a step
#include <cairn/train/learn_statistics.hpp>               // sets the statistics of a preprocess::Standardize
#include <cairn/train/losses/bce_with_logits_loss.hpp>    // binary cross entropy of logits
#include <cairn/train/losses/class_weights.hpp>           // a weight for each class
#include <cairn/train/losses/cross_entropy_loss.hpp>      // CrossEntropyLoss
#include <cairn/train/losses/element_loss.hpp>            // the common part of losses over single elements
#include <cairn/train/losses/l1_loss.hpp>                 // the mean of absolute differences
#include <cairn/train/losses/mse_loss.hpp>                // MSELoss
#include <cairn/train/losses/smooth_l1_loss.hpp>          // squares near zero, absolute values further out
#include <cairn/train/losses/soft_cross_entropy_loss.hpp> // CrossEntropyLoss with probabilities of classes as targets
#include <cairn/train/measured_costs.hpp>                 // the time of every stage, measured on this machine
#include <cairn/train/model.hpp>                          // a network that computes: parameters, buffers, evaluation
#include <cairn/train/network_outputs.hpp>                // the outputs that a program sees
#include <cairn/train/optimizers/adam.hpp>                // Adam
#include <cairn/train/optimizers/adamw.hpp>               // AdamW
#include <cairn/train/optimizers/layer_groups.hpp>        // an optimizer for each part of a network, by path
#include <cairn/train/optimizers/sgd.hpp>                 // SGD
#include <cairn/train/packed_weights.hpp>                 // a model's weights, packed for products of few rows
#include <cairn/train/parameters.hpp>                     // the parameters of a network by name
#include <cairn/train/replica.hpp>                        // the common part of a model and a trainer
#include <cairn/train/samples.hpp>                        // inputs and targets of a step
#include <cairn/train/session.hpp>                        // evaluates a model for one thread
#include <cairn/train/settings.hpp>                       // the values of a loss or an optimizer that ranks compare
#include <cairn/train/shared_weights.hpp>                 // weights that several threads evaluate concurrently
#include <cairn/train/staging_slots.hpp>                  // moves batches to a device with memory of its own
#include <cairn/train/state/weight_names.hpp>             // the names in a file of weights, and those of a network
#include <cairn/train/state/weights_in_files.hpp>         // the layout of parameters in files
#include <cairn/train/target_arrays.hpp>                  // several arrays as the targets of a step
#include <cairn/train/text/drawn_tokens.hpp>              // tokens, drawn from scores
#include <cairn/train/text/generate.hpp>                  // a text, token by token
#include <cairn/train/text/one_text.hpp>                  // a network for the next tokens of one text
#include <cairn/train/text/text_session.hpp>              // evaluates a text, whose keys and values are kept
#include <cairn/train/trainer.hpp>                        // parameters, gradients, arena: one step after another
#include <cairn/train/trainer_arguments.hpp>              // a trainer's constructors, and arguments that fit none
#include <cairn/train/training_bytes.hpp>                 // all memory of training on a machine, as a constant
#include <cairn/train/training_options.hpp>               // the options of a trainer besides its types
#include <cairn/train/updated_weights.hpp>                // the 16-bit copy of a trainer's weights, written by updates
#include <cairn/train/weights_interface.hpp>              // the common interface of a model and a trainer
#include <cairn/train/weights_on_host.hpp>                // parameters by name, in memory that the host can access
#include <cairn/train/working_copy.hpp>                   // parameters, inputs and outputs between float and 16 bits
#include <cairn/train/write_header.hpp>                   // writes a network as a header with its weights
#include <cairn/train/wrong_arguments.hpp>                // arguments of a trainer that do not fit
#include <cairn/train/wrong_trainer.hpp>                  // replaces a trainer after its error

#include <cairn/report/axis.hpp>              // the ticks of an axis
#include <cairn/report/confusion_picture.hpp> // which classes are taken for which, as a picture
#include <cairn/report/csv_log.hpp>           // metrics as a table in a file
#include <cairn/report/draw_schedule.hpp>     // the step of a model, drawn in one line
#include <cairn/report/format.hpp>            // numbers, bytes and durations as text
#include <cairn/report/layer_watch.hpp>       // times every layer of a step
#include <cairn/report/memory_plot.hpp>       // the curve of live bytes
#include <cairn/report/names.hpp>             // the names of the parts of a network
#include <cairn/report/network_lines.hpp>     // every line of a network's type, with what it does in a step
#include <cairn/report/progress.hpp>          // the progress bar
#include <cairn/report/progress_bar.hpp>      // a bar for each epoch of fit
#include <cairn/report/schedule_picture.hpp>  // a schedule and its live bytes as SVG
#include <cairn/report/stage_plot.hpp>        // what every stage does, over time
#include <cairn/report/start_line.hpp>        // what runs and where, at the start of a log
#include <cairn/report/step_trace.hpp>        // a measured training step, for ui.perfetto.dev
#include <cairn/report/step_watch.hpp>        // times every op of a step
#include <cairn/report/summary.hpp>           // a network as a table
#include <cairn/report/svg.hpp>               // the elements of a drawing
#include <cairn/report/table.hpp>             // a table for people
#include <cairn/report/tensorboard_log.hpp>   // metrics for TensorBoard
#include <cairn/report/timed_summary.hpp>     // the time of a step, layer by layer
#include <cairn/report/timeline.hpp>          // the content of the picture of a schedule
#include <cairn/report/trace_events.hpp>      // slices and counters, as Chrome and Perfetto read them
#include <cairn/report/watched_layers.hpp>    // reports each call of a layer in a step
