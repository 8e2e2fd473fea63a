package settings

import "fmt"

const hidden = "(hidden)"

// Secret is a text that is never printed: every way of formatting or encoding
// it gives "(hidden)", or at most an address where it lies deep in something
// else. Reveal gives it to whoever has to send it.
type Secret struct{ text *string }

// NewSecret hides a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal gives the text itself.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil }

func (s Secret) shown() string {
	if s.text == nil {
		return ""
	}
	return hidden
}

// String hides the text.
func (s Secret) String() string { return s.shown() }

// GoString hides the text.
func (s Secret) GoString() string { return s.shown() }

// Format hides the text, whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.shown()) }

// MarshalText hides the text, in JSON and TOML too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.shown()), nil }
