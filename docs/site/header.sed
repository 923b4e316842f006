# What Doxygen sees of a public header: the comment at its top describes the file, and the inline namespace of the ABI is
# left out, because users write pilfer::scope.
1,/^[^\/]/s,^//\( \|$\),/// ,
s#^\( *\)/\* #\1/** #
s#\([;,}] *\)/\* #\1/**< #
1s,^/\*\* ,/** \\file\n * ,
1s,^///,/// \\file\n///,
s/^inline namespace v0 {$//
s,^} // namespace v0$,,
s/pilfer::v0::/pilfer::/g
