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
