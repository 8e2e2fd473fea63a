package child

import (
	"fmt"
	"net/http"
	"os"

	"towpath/internal/model/local/chat"
	"towpath/internal/model/local/engine"
)

// maxLoaded is how many models are kept in memory.
const maxLoaded = 2

// loaded is a model that is ready.
type loaded struct {
	path     string
	model    *engine.Model
	template *chat.Template
	begin    bool // its prompts begin with a token of their own
	used     int
}

// shelf holds the loaded models. Only whoever has the turn may use it.
type shelf struct {
	cfg  Config
	all  []*loaded
	uses int
}

func newShelf(cfg Config) *shelf { return &shelf{cfg: cfg} }

// get gives a model, loading it if need be.
func (s *shelf) get(name string) (*loaded, error) {
	path, err := s.cfg.Resolve(name)
	if err != nil {
		return nil, &failure{Status: http.StatusNotFound, Type: "not_found_error", Message: err.Error()}
	}
	s.uses++
	for _, l := range s.all {
		if l.path == path {
			l.used = s.uses
			return l, nil
		}
	}
	if err := s.makeRoom(path); err != nil {
		return nil, err
	}
	l, err := s.load(path)
	if err != nil {
		return nil, &failure{Status: http.StatusInternalServerError, Type: "model_load_error", Message: err.Error()}
	}
	l.used = s.uses
	s.all = append(s.all, l)
	return l, nil
}

// makeRoom drops the models that were not used for longest.
func (s *shelf) makeRoom(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &failure{Status: http.StatusNotFound, Type: "not_found_error", Message: err.Error()}
	}
	for len(s.all) > 0 && (len(s.all) >= maxLoaded || info.Size() > freeMemory()) {
		old := 0
		for i, l := range s.all {
			if l.used < s.all[old].used {
				old = i
			}
		}
		s.all[old].model.Close()
		s.all = append(s.all[:old], s.all[old+1:]...)
	}
	if free := freeMemory(); info.Size() > free {
		return &failure{Status: http.StatusInternalServerError, Type: "model_load_error",
			Message: fmt.Sprintf("the model needs %d MB of memory and %d MB are free; use a smaller model or free some memory",
				info.Size()>>20, free>>20)}
	}
	return nil
}

func (s *shelf) load(path string) (*loaded, error) {
	m, err := engine.Open(path, engine.Options{Threads: s.cfg.Threads, Room: freeMemory})
	if err != nil {
		return nil, err
	}
	bos, eos := m.Marks()
	t, err := chat.New(m.Template(), bos, eos, m.Controls())
	if err != nil {
		m.Close()
		return nil, err
	}
	return &loaded{path: path, model: m, template: t, begin: m.AddsBOS()}, nil
}

// tokens splits a prompt.
func (l *loaded) tokens(parts []chat.Part) []engine.Token {
	var out []engine.Token
	for i, p := range parts {
		fresh := l.model.Tokens(p.Text, l.begin && i == 0, p.Template)
		// A template that writes the first token itself must not get two.
		if i == 0 && l.begin && len(fresh) > 1 && fresh[0] == fresh[1] {
			fresh = fresh[1:]
		}
		out = append(out, fresh...)
	}
	return out
}
