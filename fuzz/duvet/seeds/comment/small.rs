fn brew() {
    //= specs/pot.md#brewing
    //= type=test
    //= reason=because
    //# A pot MUST brew.
    //# A pot SHOULD whistle.
}
  *= https://www.rfc-editor.org/rfc/rfc2324#section-2.1
  *# It MUST.
= a#b
# c
