# SPDX-License-Identifier: MIT
# Makes the comments of a header those that Doxygen reads. A comment in a line of its own belongs to what follows, one behind a
# member to that member; what is indented by two or more in a comment is code.
function plain(text) { gsub(/[\\@<>#&%$"]/, "\\\\&", text); gsub(/::/, "\\::", text); return text }
function end_code() { if (in_code) print indent "/// @endcode"; in_code = 0 }
/^\/\/ SPDX-License-Identifier/ { print "//"; next }
/std::ranges::enable_borrowed_range/ { print ""; next } # of another namespace
/^ *\/\/( |$)/ {
  match($0, /\/\//)
  indent = substr($0, 1, RSTART - 1)
  text = substr($0, RSTART + 2)
  if (text ~ /^   /) {
    if (!in_code) print indent "/// @code{.cpp}"
    in_code = 1
    print indent "///" text
  } else {
    end_code()
    print indent "///" plain(text)
  }
  next
}
{
  end_code()
  gsub(/struct std::/, "struct cairn_detail_std_") # of another namespace
  if (match($0, /[;,] +\/\/ /)) {
    at = index($0, "// ")
    print substr($0, 1, at - 1) "///< " plain(substr($0, at + 3))
  } else print
}
