package browser

import "sync"

// maxRuns is how many runs' documents are kept: the one that goes on, and
// those beside it.
const maxRuns = 4

// cache keeps what was made in a run, so that it is made once. Outside a run
// nothing is kept, because nothing says when it has grown old. Failures are
// not kept.
type cache struct {
	mu   sync.Mutex
	runs []*runCache // newest last
}

type runCache struct {
	run   string
	items map[string]*item
}

// item is made by the first who asks; others wait for it.
type item struct {
	mu    sync.Mutex
	made  bool
	value any
}

func newCache() *cache { return &cache{} }

func (c *cache) do(run, key string, make func() (any, error)) (any, error) {
	if run == "" {
		return make()
	}
	it := c.item(run, key)
	it.mu.Lock()
	defer it.mu.Unlock()
	if it.made {
		return it.value, nil
	}
	v, err := make()
	if err != nil {
		return nil, err
	}
	it.made, it.value = true, v
	return v, nil
}

func (c *cache) item(run, key string) *item {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r *runCache
	for _, have := range c.runs {
		if have.run == run {
			r = have
		}
	}
	if r == nil {
		r = &runCache{run: run, items: map[string]*item{}}
		if c.runs = append(c.runs, r); len(c.runs) > maxRuns {
			c.runs = c.runs[1:]
		}
	}
	it := r.items[key]
	if it == nil {
		it = &item{}
		r.items[key] = it
	}
	return it
}
