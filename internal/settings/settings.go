// Package settings says what is in force and where each value came from:
// flags, then TOWPATH_* variables, then the nearest towpath.toml, then the
// user's own file, then defaults. It also keeps what the user trusts: what a
// workspace's file may not decide by itself is inert until then.
//
// A Settings does not change once Load has returned it and may be used from
// several goroutines.
package settings

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// The names of the settings files.
const (
	ProjectFile = "towpath.toml" // in the workspace or a parent
	UserFile    = "config.toml"  // in the user's folder
)

// Options say where to look.
type Options struct {
	Workspace string            // the workspace's folder; "" where there is none
	Flags     map[string]string // key -> value as given on the command line
	Environ   []string          // NAME=value, as os.Environ gives it
	UserDir   string            // folder of the user's file; "" finds it by the environment
	StateDir  string            // folder of what the user trusts; "" finds it by the environment
	Dir       string            // what relative paths in flags and variables start from; "" is the working directory
	Commands  []string          // paths of the workspace's files, other than towpath.toml, that hold commands
}

// Settings is what is in force.
type Settings struct {
	Model       string   // provider/model; "" chooses by what is there
	Suggest     []string // models of Ollama to try before others when none is named
	Temperature *float64 // nil is the default of 0.1
	Window      int      // tokens; 0 asks the server
	Reply       int      // tokens that a reply may have
	Think       *bool    // nil is off

	Vars      map[string]string   // placeholders
	Headings  map[string][]string // more words for a contract's sections
	Use       map[string]string   // a stage's, tool's or role's name -> model
	Models    map[string]Params   // by provider/model, as set; Params(id) gives them complete
	Providers map[string]Provider // by name, built-in ones too
	Servers   map[string]Server   // by name
	Timeouts  Timeouts
	Limits    Limits
	Search    Search
	Write     []string // absolute paths and patterns that stages may write to besides their output/
	Fetch     Fetch

	Project  string // path of the towpath.toml that was read, "" if there is none
	User     string // path of the user's file, read or not
	Inert    []Inert
	Warnings []string // each one sentence

	Subject    Subject    // what the user would trust
	TrustState TrustState // of Subject
	trusts     *TrustStore

	values map[string]value // what is in force, by key
	beaten []value          // inert ones, for show
	env    *environment
}

// Params are what a call to a model is made with. Nil and zero fields are not
// set.
type Params struct {
	Temperature *float64
	Window      int // tokens
	Reply       int // tokens
	Think       *bool
	Tools       *bool // whether it can call tools; nil asks the server
	Parallel    int   // calls at once
	Timeouts    Timeouts
}

// Timeouts bound a call to a model.
type Timeouts struct {
	Connect   time.Duration // to the connection
	FirstByte time.Duration // from sending to the first byte of the reply
	Idle      time.Duration // between two pieces of a reply
	Total     time.Duration
}

// Limits bound a stage's turn.
type Limits struct {
	ToolCalls   int
	Time        time.Duration
	Tokens      int           // prompt and output of all calls; 0: no limit
	ResultBytes int           // the most that a model is shown of one tool result; 0: its free window decides
	Wait        time.Duration // the longest single wait for a server that asks for patience
}

// Search sets the search tool.
type Search struct {
	Library    string // absolute path of a folder of documents, "" if none
	MaxResults int
	SearXNG    string // address of a SearXNG, whether it runs or not
}

// Fetch sets what pages may be fetched.
type Fetch struct {
	Allow   []string // address ranges (CIDR) that are let through though they are private
	Camofox string   // address of a camofox-browser, whether it runs or not
}

// Server is a tool server. One of Builtin, Command and URL is set.
type Server struct {
	Name     string
	Builtin  string
	Command  string
	Args     []string
	Env      map[string]Secret
	URL      string
	Headers  map[string]Secret
	Optional bool // a stage goes on without it

	TokenFile    string        // absolute; holds a bearer token
	StartTimeout time.Duration // until the server answers; 0 is the default
	CallTimeout  time.Duration // of a call, from its last sign of progress; 0 is the default
	CallLimit    time.Duration // of a call as a whole; 0 is the default
	Unset        []string      // variables that its values name and that are not set
}

// Load reads what is set. An unknown key, a value of the wrong kind or a file
// that cannot be read is an error that names file and line.
func Load(opt Options) (*Settings, error) {
	env := newEnvironment(opt)
	s := &Settings{env: env, User: env.userFile()}
	project, root, err := findProject(opt.Workspace, env)
	if err != nil {
		return nil, err
	}
	s.Project = project

	layers := []layer{defaults()}
	user, err := readUser(s.User)
	if err != nil {
		return nil, err
	}
	own, bytes, err := readProject(project, root)
	if err != nil {
		return nil, err
	}
	fromEnv, warnings, err := readEnv(env)
	if err != nil {
		return nil, err
	}
	flags, err := readFlags(opt.Flags)
	if err != nil {
		return nil, err
	}
	layers = append(layers, user, own, fromEnv, flags)
	s.Warnings = warnings

	if err := s.findTrust(opt, bytes); err != nil {
		return nil, err
	}
	if err := s.merge(layers, root); err != nil {
		return nil, err
	}
	if err := s.fill(); err != nil {
		return nil, err
	}
	return s, nil
}

// ModelFor gives the model for the first of the names (a stage, a tool, a role
// such as "judge") that [use] maps, else the one for everything; where it was
// said, too. A model that a flag or a variable names comes before all of them.
// "" leaves the choice to what is there.
func (s *Settings) ModelFor(names ...string) (id, origin string) {
	general := s.values["model"]
	if general.rank >= rankEnv {
		return s.Model, general.origin.String()
	}
	for _, n := range append(slices.Clone(names), "default") {
		if id, ok := s.Use[n]; ok {
			return id, s.values[keyName([]string{"use", n})].origin.String()
		}
	}
	if s.Model == "" {
		return "", ""
	}
	return s.Model, general.origin.String()
}

// NeedModel says whether the choice that ModelFor makes waits for trust: then
// the error is an *UntrustedError.
func (s *Settings) NeedModel(names ...string) error {
	if s.values["model"].rank >= rankEnv {
		return nil
	}
	for _, n := range append(slices.Clone(names), "default") {
		if err := s.Need(keyName([]string{"use", n})); err != nil {
			return err
		}
		if _, ok := s.Use[n]; ok {
			return nil
		}
	}
	return s.Need("model")
}

// Params gives what calls to a model are made with: what is set for it, else
// what is set for all. A flag or a variable comes before both.
func (s *Settings) Params(id string) Params {
	p := s.Models[id]
	own := func(name string) bool {
		v, ok := s.values[keyName([]string{"models", id, name})]
		return ok && (v.rank >= rankEnv || s.values[generalKey(name)].rank < rankEnv)
	}
	if !own("temperature") {
		p.Temperature = s.Temperature
	}
	if !own("window") {
		p.Window = s.Window
	}
	if !own("reply") {
		p.Reply = s.Reply
	}
	if !own("think") {
		p.Think = s.Think
	}
	for name, t := range map[string]struct{ own, all *time.Duration }{
		"first_byte": {&p.Timeouts.FirstByte, &s.Timeouts.FirstByte},
		"idle":       {&p.Timeouts.Idle, &s.Timeouts.Idle},
		"total":      {&p.Timeouts.Total, &s.Timeouts.Total},
	} {
		if !own(name) {
			*t.own = *t.all
		}
	}
	p.Timeouts.Connect = s.Timeouts.Connect
	return p
}

// generalKey is the key that sets for all models what name sets for one.
func generalKey(name string) string {
	switch name {
	case "first_byte", "idle", "total":
		return "timeouts." + name
	}
	return name
}

// MayWrite reports whether trusted settings let a stage write to the absolute
// path.
func (s *Settings) MayWrite(abs string) bool {
	return slices.ContainsFunc(s.Write, func(pattern string) bool { return covers(pattern, filepath.Clean(abs)) })
}

// Inert is a value of the workspace's file that is not in force until the user
// trusts it.
type Inert struct {
	Key  string
	File string
	Line int
	Why  string // what the key could do, one clause

	Value string // as TOML writes it; secrets hidden
}

// Need says whether the key, or anything below it, waits for trust: then the
// error is an *UntrustedError. A key that is in force or not set needs nothing,
// and neither does one that a flag or a variable sets in place of the file.
func (s *Settings) Need(key string) error {
	for _, i := range s.Inert {
		if s.values[i.Key].rank >= rankEnv {
			continue
		}
		if i.Key == key || below(key, i.Key) {
			return &UntrustedError{Inert: i, Changed: s.TrustState == TrustChanged}
		}
	}
	return nil
}

// UntrustedError is a wish for something that the workspace's file sets and
// that its owner has not said yes to.
type UntrustedError struct {
	Inert
	Changed bool // it was trusted, and changed since
}

// Error names the place and the mend.
func (e *UntrustedError) Error() string {
	why := "is not trusted yet"
	if e.Changed {
		why = "changed since it was trusted"
	}
	return fmt.Sprintf("%s:%d: %s %s, and the file %s; read it, then run towpath trust", e.File, e.Line, e.Key, e.Why, why)
}

// ExitCode is 4: the run waits for a person.
func (e *UntrustedError) ExitCode() int { return 4 }
