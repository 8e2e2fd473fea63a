package app

import (
	"context"
	"errors"
	"sync"

	"towpath/internal/toolbox/services"
)

// checkServices asks the servers that a person may run beside the program. Those
// that no setting names are asked where they would be, and may be missing.
func (a *App) checkServices(ctx context.Context) []Finding {
	var asker services.Asker
	all := []struct {
		what, key, address string
		ask                func(context.Context, string) (services.Health, error)
	}{
		{"searxng", "search.searxng", a.Settings.Search.SearXNG, asker.SearXNG},
		{"camofox", "fetch.camofox", a.Settings.Fetch.Camofox, asker.Camofox},
	}
	out := make([]Finding, len(all))
	var wait sync.WaitGroup
	for i, s := range all {
		if err := a.Settings.Need(s.key); err != nil {
			out[i] = Finding{s.what, Note, err.Error(), ""}
			continue
		}
		wait.Go(func() {
			health, err := s.ask(ctx, s.address)
			out[i] = serviceFinding(s.what, s.address, a.Settings.Configured(s.key), health, err)
		})
	}
	wait.Wait()
	return out
}

func serviceFinding(what, address string, named bool, h services.Health, err error) Finding {
	var not *services.NotReadyError
	switch {
	case errors.As(err, &not) && not.Absent && !named:
		return Finding{what, Note, address + ": " + not.Why + "; runs do not need it", not.Mend}
	case errors.As(err, &not):
		f := Finding{what, Note, address + ": " + not.Why, not.Mend}
		if named {
			f.State = Bad
		}
		return f
	case err != nil:
		return Finding{what, Bad, address + ": " + err.Error(), ""}
	case h.Doubt != "":
		return Finding{what, Note, address + ": " + h.Text + "; " + h.Doubt, ""}
	}
	return Finding{what, Good, address + ": " + h.Text, ""}
}
