package settings

// Configured reports whether something other than the defaults sets the key or
// anything below it.
func (s *Settings) Configured(key string) bool {
	for name, v := range s.values {
		if v.rank > rankDefault && (name == key || below(key, name)) {
			return true
		}
	}
	return false
}

// StateDir is the user's folder for what the program keeps of its own use:
// what is trusted, conversations, lines that were typed. "" where no folder of
// the user's is known.
func (s *Settings) StateDir() string { return s.env.stateDir() }
