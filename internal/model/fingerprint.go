package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Fingerprint names what a request asks: SHA-256 in hex of its messages,
// tools, tool choice and schema. Equal questions have equal fingerprints
// whoever answers them: model, sampling and window are not part of it, JSON is
// compared by value rather than by spelling, and the ids of tool calls count
// only by the order in which they appear.
func Fingerprint(r Request) string {
	ids := map[string]string{}
	rename := func(id string) string {
		if id == "" {
			return ""
		}
		if _, ok := ids[id]; !ok {
			ids[id] = "call-" + strconv.Itoa(len(ids)+1)
		}
		return ids[id]
	}
	asked := struct {
		Messages []Message  `json:"messages"`
		Tools    []ToolDef  `json:"tools"`
		Choice   ToolChoice `json:"choice"`
		Schema   any        `json:"schema"`
	}{Choice: r.ToolChoice, Schema: canonical(r.Schema)}
	for _, m := range r.Messages {
		calls := m.ToolCalls
		m.ToolCalls = nil
		for _, c := range calls {
			c.ID = rename(c.ID)
			m.ToolCalls = append(m.ToolCalls, c)
		}
		m.ToolCallID = rename(m.ToolCallID)
		asked.Messages = append(asked.Messages, m)
	}
	for _, t := range r.Tools {
		t.Schema = canonicalRaw(t.Schema)
		asked.Tools = append(asked.Tools, t)
	}
	data, err := json.Marshal(asked)
	if err != nil { // cannot happen: canonicalRaw leaves valid JSON only
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// canonical decodes raw so that it marshals the same way whatever its spacing
// and the order of its keys; what is not JSON stands for itself as a string.
func canonical(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return string(raw)
	}
	return v
}

func canonicalRaw(raw json.RawMessage) json.RawMessage {
	data, err := json.Marshal(canonical(raw))
	if err != nil {
		return json.RawMessage(`null`)
	}
	return data
}
