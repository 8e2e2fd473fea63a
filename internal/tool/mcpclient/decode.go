package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// decode reads one message. It is as strict as the SDK is, which reads whatever
// passes here, and takes less memory.
func decode(data []byte) (jsonrpc.Message, error) {
	if res := ordinary(data); res != nil {
		return res, nil
	}
	var w struct {
		Version string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   *jsonrpc.Error  `json:"error"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	if w.Version != "2.0" {
		return nil, errors.New("reading a message: it is not of JSON-RPC 2.0")
	}
	id, err := jsonrpc.MakeID(w.ID)
	if err != nil {
		return nil, fmt.Errorf("reading a message: %w", err)
	}
	if w.Method != nil {
		return &jsonrpc.Request{ID: id, Method: *w.Method, Params: w.Params}, nil
	}
	if !id.IsValid() {
		return nil, errors.New("reading a message: it is neither a request nor an answer")
	}
	res := &jsonrpc.Response{ID: id, Result: w.Result}
	if w.Error != nil {
		res.Error = w.Error
	}
	return res, nil
}

// ordinary reads an answer in one of the two forms in which servers write most:
// where what stands between a known beginning and a known end is one JSON value,
// nothing else can be in the message. It gives nil for any other.
func ordinary(data []byte) *jsonrpc.Response {
	var number, result []byte
	if rest, ok := bytes.CutPrefix(data, []byte(`{"jsonrpc":"2.0","id":`)); ok {
		if number, rest, ok = bytes.Cut(rest, []byte(`,"result":`)); !ok || !bytes.HasSuffix(rest, []byte("}")) {
			return nil
		}
		result = rest[:len(rest)-1]
	} else if rest, ok := bytes.CutPrefix(data, []byte(`{"result":`)); ok {
		i := bytes.LastIndex(rest, []byte(`,"jsonrpc":"2.0","id":`))
		if i < 0 || !bytes.HasSuffix(rest, []byte("}")) {
			return nil
		}
		result, number = rest[:i], rest[i+len(`,"jsonrpc":"2.0","id":`):len(rest)-1]
	}
	n, err := strconv.ParseUint(string(number[:min(len(number), 20)]), 10, 32)
	if err != nil || !json.Valid(result) {
		return nil
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil
	}
	return &jsonrpc.Response{ID: id, Result: result}
}
