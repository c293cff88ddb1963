package commands

// Invalid is what is said of a flaw.
var Invalid = flawText
