// SPDX-License-Identifier: MIT
#pragma once

// Texts as tokens, and datasets of tokens. They are not part of cairn.hpp, as only programs that read text need them.
#include <cairn/data/text/byte_pairs.hpp>
#include <cairn/data/text/bytes.hpp>
#include <cairn/data/text/character_kind.hpp>
#include <cairn/data/text/characters.hpp>
#include <cairn/data/text/check_tokens.hpp>
#include <cairn/data/text/gpt2_pieces.hpp>
#include <cairn/data/text/mask_tokens.hpp>
#include <cairn/data/text/read_text.hpp>
#include <cairn/data/text/token_list.hpp>
#include <cairn/data/text/token_windows.hpp>
#include <cairn/data/text/unicode_tables.hpp>
#include <cairn/data/text/utf8.hpp>
