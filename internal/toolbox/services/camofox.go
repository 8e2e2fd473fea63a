package services

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

var camofox = service{name: "camofox-browser", key: "fetch.camofox", unit: "camofox"}

// browserHealth is what is read of camofox-browser's answer. Builds differ in
// which of the last fields they give.
type browserHealth struct {
	OK         *bool  `json:"ok"`
	Engine     string `json:"engine"`
	Recovering bool   `json:"recovering"`
	Warming    bool   `json:"warming"`
	Connected  *bool  `json:"browserConnected"`
	Running    *bool  `json:"browserRunning"`
	Failures   int    `json:"consecutiveFailures"`
}

// Camofox asks the camofox-browser at the address for its health, which opens no
// page. An error is a *NotReadyError.
func (a Asker) Camofox(ctx context.Context, address string) (Health, error) {
	got, err := a.get(ctx, camofox, address, "health", nil)
	if err != nil {
		return Health{}, err
	}
	if got.status != http.StatusOK && got.status != http.StatusServiceUnavailable {
		return Health{}, camofox.failed(got)
	}
	var h browserHealth
	valid := json.Valid(got.body)
	known := json.Unmarshal(got.body, &h) == nil && h.OK != nil && (h.Engine == "camoufox" || h.Connected != nil)
	switch {
	case known:
		return h.judge()
	case got.status != http.StatusOK:
		return Health{}, camofox.failed(got)
	case !valid:
		return Health{}, camofox.notJSON(got)
	}
	return Health{}, camofox.other(got)
}

func (h browserHealth) judge() (Health, error) {
	const soon = "try again in a minute; if it stays so, "
	running := h.Running != nil && *h.Running || h.Connected != nil && *h.Connected
	failures := fmt.Sprintf("its last %d page loads failed", h.Failures)
	if h.Failures == 1 {
		failures = "its last page load failed"
	}
	switch {
	case h.Recovering:
		return Health{}, notReady(soon+camofox.logs(), "it is starting its browser again after failures")
	case h.Warming:
		return Health{}, notReady(soon+camofox.logs(), "its browser is still starting")
	case !*h.OK:
		return Health{}, notReady(camofox.logs(), "it says that it is not well")
	case !running && h.Failures > 0:
		return Health{}, notReady("start it again: docker compose -f services/compose.yaml restart camofox",
			"its browser is not running, and %s", failures)
	case !running:
		return Health{Text: "answers; its browser is not running and starts with the first page"}, nil
	case h.Failures > 0:
		return Health{Text: "answers, its browser runs", Doubt: failures}, nil
	}
	return Health{Text: "answers, its browser runs"}, nil
}
