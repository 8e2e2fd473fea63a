package starter

import (
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed services
var services embed.FS

// ComposeFile is where WriteServices puts the compose file, below the folder.
const ComposeFile = "services/compose.yaml"

// secretPlace stands in the settings where a key made by chance belongs.
const secretPlace = "SECRET"

// Written says what WriteServices did. Paths are relative to the folder, with
// slashes.
type Written struct {
	Made []string
	Kept []string // were there already and were left as they are
}

// WriteServices puts a compose file with SearXNG and camofox-browser, and what
// they need, below dir, which is made if it is missing. What is there already is
// left as it is. The key of SearXNG is made from random.
func WriteServices(dir string, random io.Reader) (Written, error) {
	var done Written
	key := make([]byte, 32)
	if _, err := io.ReadFull(random, key); err != nil {
		return done, fmt.Errorf("making a secret key: %w", err)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return done, fmt.Errorf("writing the services: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return done, fmt.Errorf("writing the services: %w", err)
	}
	defer root.Close()
	for _, name := range []string{ComposeFile, "services/searxng/settings.yml", "services/.gitignore"} {
		data, err := services.ReadFile(strings.Replace(name, "/.", "/", 1)) // git would heed it where it is embedded from
		if err != nil {
			return done, fmt.Errorf("writing the services: %w", err)
		}
		text := strings.Replace(string(data), secretPlace, hex.EncodeToString(key), 1)
		switch err := writeNew(root, name, text); {
		case errors.Is(err, fs.ErrExist):
			done.Kept = append(done.Kept, name)
		case err != nil:
			return done, fmt.Errorf("writing the services: %w", err)
		default:
			done.Made = append(done.Made, name)
		}
	}
	return done, nil
}

// writeNew writes a file that is not there yet. Containers read it as a user of
// their own, so it is readable to all whatever the umask says.
func writeNew(root *os.Root, name, text string) error {
	native := filepath.FromSlash(name)
	parent := filepath.FromSlash(path.Dir(name))
	if _, err := root.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
		if err := root.Chmod(parent, 0o755); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(native, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, root.Remove(native)) // half of it would be kept for ever
	}
	return nil
}
