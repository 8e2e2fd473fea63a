package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"towpath/internal/model/local/chat"
	"towpath/internal/model/local/engine"
	"towpath/internal/model/local/gbnf"
)

// SafeHeader asks for a reply without grammar: the parent sets it on the second
// try of a request that ended the process.
const SafeHeader = "X-Towpath-No-Grammar"

// beatEvery is how often a request that waits shows that it lives.
const beatEvery = 2 * time.Second

// chat answers one request.
func (s *server) chat(w http.ResponseWriter, r *http.Request) {
	job, err := understand(r.Body, r.Header.Get(SafeHeader) != "")
	if err != nil {
		refuse(w, asFailure(err))
		return
	}
	out := &output{w: w, job: job, id: fmt.Sprintf("chatcmpl-%d", time.Now().UnixNano()), created: time.Now().Unix()}
	ctx := r.Context()
	if !s.turns.try() {
		if err := s.stand(ctx, out); err != nil {
			out.fail(asFailure(err))
			return
		}
	}
	defer s.turns.done()
	if err := s.answer(ctx, out); err != nil {
		out.fail(asFailure(err))
	}
}

// stand waits for this request's turn.
func (s *server) stand(ctx context.Context, out *output) error {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	pulse := make(chan struct{})
	waiting, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for {
			select {
			case <-beat.C:
				select {
				case pulse <- struct{}{}:
				case <-waiting.Done():
					return
				}
			case <-waiting.Done():
				return
			}
		}
	}()
	return s.turns.wait(ctx, pulse, func() { out.comment("waiting for another request") })
}

// answer makes the reply. The request has the turn.
func (s *server) answer(ctx context.Context, out *output) error {
	s.stall.start()
	defer s.stall.stop()
	l, err := s.shelf.get(out.job.Model)
	if err != nil {
		return err
	}
	s.stall.progress()
	parts, err := l.template.Render(out.job.messages, out.job.tools)
	if err != nil {
		return badRequest("%v", err)
	}
	job := engine.Job{
		Prompt:      l.tokens(parts),
		MaxOutput:   out.job.output(),
		Temperature: out.job.temperature(),
		Grammar:     out.job.grammar,
		Emit: func(text string) bool {
			s.stall.progress()
			return out.write(text)
		},
		Progress: func(done, cached, total int) {
			s.stall.progress()
			out.progress(done, cached, total)
		},
	}
	if out.job.lazy {
		job.Trigger, job.Release = gbnf.CallOpen, gbnf.CallClose
	}
	if out.job.Seed != nil {
		job.Seed = uint64(*out.job.Seed)
	}
	made, err := l.model.Run(ctx, job)
	if err != nil {
		return err
	}
	out.finish(made)
	return nil
}

// asFailure gives an error the form that the protocol has for it.
func asFailure(err error) *failure {
	var f *failure
	var overflow *engine.OverflowError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &overflow):
		return &failure{Status: http.StatusBadRequest, Type: "exceed_context_size_error",
			Message: "the request exceeds the available context size: " + overflow.Error(),
			Prompt:  overflow.Prompt, Window: overflow.Window}
	case errors.Is(err, errBusy):
		return &failure{Status: http.StatusServiceUnavailable, Type: "overloaded_error", Message: err.Error()}
	case errors.Is(err, engine.ErrDegenerate):
		return &failure{Status: http.StatusInternalServerError, Type: "degenerate_output", Message: err.Error()}
	case errors.Is(err, engine.ErrGrammar):
		return badRequest("%v", err)
	}
	return &failure{Status: http.StatusInternalServerError, Type: "server_error", Message: err.Error()}
}

// output writes a reply in the protocol's form, as a stream or whole.
type output struct {
	w       http.ResponseWriter
	job     *work
	id      string
	created int64
	begun   bool // the stream's head was sent
	split   chat.Splitter
	text    strings.Builder // of a reply that is not streamed
	calls   []chat.Call
	stopped bool   // a stop text was found
	held    string // text that could still begin a stop text
}

// begin sends the head of a stream.
func (o *output) begin() {
	if o.begun {
		return
	}
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
}

func (o *output) event(v any) {
	o.begin()
	raw, err := json.Marshal(v)
	if err != nil {
		return // cannot be: all of it is plain data
	}
	fmt.Fprintf(o.w, "data: %s\n\n", raw)
	o.flush()
}

// comment shows that the request lives. It does nothing where the reply is not
// streamed.
func (o *output) comment(text string) {
	if !o.job.Stream {
		return
	}
	o.begin()
	fmt.Fprintf(o.w, ": %s\n\n", text)
	o.flush()
}

func (o *output) flush() { http.NewResponseController(o.w).Flush() }

// progress says how much of the prompt was read.
func (o *output) progress(done, cached, total int) {
	if !o.job.Stream || done == total {
		return
	}
	o.comment(fmt.Sprintf("reading the prompt, %d%%", 100*done/total))
	if o.job.Progress {
		c := o.chunk(delta{Role: "assistant"}, nil)
		c.Progress = &promptProgress{Total: total, Cache: cached, Processed: done}
		o.event(c)
	}
}

// write takes the next piece of the reply. False ends it.
func (o *output) write(piece string) bool {
	piece = o.untilStop(piece)
	if len(o.job.tools) > 0 {
		piece = o.split.Write(piece)
	}
	o.show(piece)
	return !o.stopped
}

// untilStop cuts at a stop text, and holds back what could begin one.
func (o *output) untilStop(piece string) string {
	if len(o.job.stops) == 0 {
		return piece
	}
	text := o.held + piece
	o.held = ""
	for _, s := range o.job.stops {
		if at := strings.Index(text, s); at >= 0 {
			text, o.stopped = text[:at], true
		}
	}
	if o.stopped {
		return text
	}
	hold := 0
	for _, s := range o.job.stops {
		for n := min(len(s)-1, len(text)); n > hold; n-- {
			if strings.HasSuffix(text, s[:n]) {
				hold = n
			}
		}
	}
	o.held = text[len(text)-hold:]
	return text[:len(text)-hold]
}

// show passes text on.
func (o *output) show(text string) {
	if text == "" {
		return
	}
	if o.job.Stream {
		o.event(o.chunk(delta{Content: &text}, nil))
	} else {
		o.text.WriteString(text)
	}
}

// finish ends the reply.
func (o *output) finish(made engine.Outcome) {
	if !o.stopped {
		rest := o.held
		if len(o.job.tools) > 0 {
			rest = o.split.Write(rest)
		}
		o.show(rest)
	}
	if len(o.job.tools) > 0 {
		var rest string
		rest, o.calls = o.split.Close()
		o.show(rest)
	}
	why := string(engine.FinishStop)
	if made.Finish == engine.FinishLength {
		why = string(engine.FinishLength)
	} else if len(o.calls) > 0 {
		why = "tool_calls"
	}
	calls := o.wireCalls()
	use := usage{Prompt: made.Prompt, Output: made.Output, Total: made.Prompt + made.Output}
	use.Details.Cached = made.Cached
	if o.job.Stream {
		o.endStream(why, calls, use)
		return
	}
	text := o.text.String()
	m := delta{Role: "assistant", Content: &text, Calls: calls}
	if text == "" && len(calls) > 0 {
		m.Content = nil
	}
	reply(o.w, http.StatusOK, completion{ID: o.id, Object: "chat.completion", Created: o.created, Model: o.job.Model,
		Choices: []choice{{Message: &m, Finish: &why}}, Usage: &use})
}

func (o *output) endStream(why string, calls []wireCall, use usage) {
	for _, c := range calls {
		o.event(o.chunk(delta{Calls: []wireCall{c}}, nil))
	}
	o.event(o.chunk(delta{}, &why))
	if o.job.Options.Usage {
		last := o.chunk(delta{}, nil)
		last.Choices, last.Usage = []choice{}, &use
		o.event(last)
	}
	fmt.Fprint(o.w, "data: [DONE]\n\n")
	o.flush()
}

// fail ends the reply with an error.
func (o *output) fail(f *failure) {
	if !o.begun {
		refuse(o.w, f)
		return
	}
	o.event(map[string]*failure{"error": f})
}
