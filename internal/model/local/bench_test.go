//go:build linux

package local

import (
	"fmt"
	"strings"
	"testing"

	"towpath/internal/model"
)

// BenchmarkItemsOfAForEach measures how much of the prompts of five items is
// not computed again. The floor is what must be computed at least: the first
// prompt, and of the others what differs.
func BenchmarkItemsOfAForEach(b *testing.B) {
	needSmall(b)
	common := strings.Repeat("The notes say that worms like leaves and dislike citrus. ", 60)
	for b.Loop() {
		p := New(Config{})
		var prompts, computed, floor int
		for i := range 5 {
			reply, err := p.Model(SmallModel).Call(b.Context(), model.Request{Temperature: zero(), MaxOutput: 16, Messages: []model.Message{
				{Role: model.RoleSystem, Text: "You write short sections of a course."},
				{Role: model.RoleUser, Text: common + fmt.Sprintf("\n\nWrite the section for module %d.", i+1)},
			}}, nil)
			if err != nil {
				b.Fatal(err)
			}
			all := *reply.Usage.Prompt
			prompts += all
			computed += all - *reply.Usage.Cached
			if i == 0 {
				floor = all
			} else {
				floor += 8 // the number, and what closes the prompt
			}
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(prompts), "prompt-tokens")
		b.ReportMetric(float64(computed), "computed-tokens")
		b.ReportMetric(float64(floor), "floor-tokens")
		b.ReportMetric(100*float64(prompts-computed)/float64(prompts), "%-not-computed-again")
	}
}
