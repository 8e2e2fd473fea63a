// Package salvage reads tool calls that a model wrote as text, because its chat
// template or its server lost their form.
package salvage

import "towpath/internal/model"

// Calls reads tool calls from a reply that is nothing else. text is the whole
// reply without its reasoning; offered are the names that may be called. It gives
// nil where the text is anything but calls to offered tools, or where arguments
// would have to be invented. Clean JSON arguments are kept to the byte. The ids
// of the calls are empty.
func Calls(text string, offered []string) []model.ToolCall { return nil }

// Arguments mends arguments that are not JSON where that can be done without
// inventing anything: a fence around them, text after them, the same object
// twice, an unescaped newline. ok is false where they are cut or unreadable.
func Arguments(s string) (mended string, ok bool) { return s, true }
