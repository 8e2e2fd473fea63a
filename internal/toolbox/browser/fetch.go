package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"towpath/internal/document"
	"towpath/internal/toolbox/library"
)

// OfLibrary makes a library a Fetcher. The caller closes the library.
func OfLibrary(l *library.Library) Fetcher { return libraryFetcher{l} }

type libraryFetcher struct{ library *library.Library }

func (f libraryFetcher) Fetch(ctx context.Context, address string) (Page, error) {
	p, err := f.library.Read(ctx, address)
	if err == nil {
		return Page{
			Address: library.Address{Path: p.Address.Path}.String(),
			Title:   p.Title, Markdown: p.Markdown, Kind: p.Kind, Cut: p.Cut,
		}, nil
	}
	var none *library.NotFoundError
	var bad *library.AddressError
	var kind *document.UnsupportedError
	switch {
	case errors.As(err, &none):
		return Page{}, refusal(none.Address+" is not in the library", none.Nearest)
	case errors.As(err, &bad):
		near := f.library.Nearest(ctx, address, 3)
		switch bad.Scheme {
		case "http", "https":
			return Page{}, refusal(fmt.Sprintf("pages of the web cannot be read here, only documents of the library; %s was not fetched", clip(address, 200)), near)
		}
		return Page{}, refusal(bad.Error(), near)
	case errors.As(err, &kind):
		return Page{}, fmt.Errorf("%s: choose another result of the search", kind.Error())
	}
	return Page{}, err
}

// refusal says what to do instead: small models invent addresses.
func refusal(what string, near []string) error {
	how := "run search-server search first and use an address that it returned"
	if len(near) == 0 {
		return fmt.Errorf("%s: %s", what, how)
	}
	return fmt.Errorf("%s: %s; the nearest that there are: %s", what, how, strings.Join(near, ", "))
}

// resolve gives the address that a link of a page leads to; false for one that
// cannot be followed.
func resolve(page, target string) (string, bool) {
	if strings.HasPrefix(page, library.Scheme) {
		at, err := library.ParseAddress(page)
		if err != nil {
			return "", false
		}
		if to, ok := at.Resolve(target); ok {
			return to.String(), true
		}
		page = ""
	}
	u, err := url.Parse(strings.TrimSpace(target))
	if err != nil {
		return "", false
	}
	if base, err := url.Parse(page); err == nil && page != "" {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", false
	}
	return u.String(), true
}
