// Command check follows the links of a site in a folder, and those of its search: each leads to a file of the site, and to a place in it
// that exists. It names what does not, page by page. Links to other sites are not followed.
//
//	go run ./site/check bin/site
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check FOLDER")
		os.Exit(2)
	}
	links, broken, err := check(os.DirFS(os.Args[1]))
	for _, line := range broken {
		fmt.Fprintln(os.Stderr, line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	if err != nil || len(broken) > 0 {
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "%d links lead somewhere\n", links)
}

// page is what other pages can link to, and what it links to.
type page struct {
	places map[string]bool
	links  []string
}

// check counts the links within a site, and lists those that lead nowhere.
func check(site fs.FS) (links int, broken []string, err error) {
	pages, files, err := load(site)
	if err != nil {
		return 0, nil, err
	}
	for name, p := range pages {
		for _, link := range p.links {
			to, err := url.Parse(link)
			if err == nil && (to.Scheme != "" || to.Host != "") {
				continue
			}
			links++
			if err != nil {
				broken = append(broken, fmt.Sprintf("%s: %v", name, err))
				continue
			}
			switch file := target(name, to.Path); {
			case !files[file]:
				broken = append(broken, fmt.Sprintf("%s: there is no file for the link %s", name, link))
			case to.Fragment != "" && !pages[file].places[to.Fragment]:
				broken = append(broken, fmt.Sprintf("%s: %s has no place for the link %s", name, file, link))
			}
		}
	}
	slices.Sort(broken)
	return links, slices.Compact(broken), nil
}

// load reads the pages of a site, and the names of all its files.
func load(site fs.FS) (pages map[string]page, files map[string]bool, err error) {
	pages, files = map[string]page{}, map[string]bool{}
	err = fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[name] = true
		if path.Ext(name) != ".html" && name != searchIndex {
			return nil
		}
		text, err := fs.ReadFile(site, name)
		if err != nil {
			return err //nolint:wrapcheck // with the path
		}
		if name == searchIndex {
			pages[name], err = readIndex(text)
			return err
		}
		pages[name] = read(text)
		return nil
	})
	if err == nil && len(pages) == 0 {
		err = errors.New("there are no pages")
	}
	return pages, files, err
}

// searchIndex is the script with the sections that the search of the site finds.
const searchIndex = "search-index.js"

// readIndex collects the addresses of the sections.
func readIndex(text []byte) (page, error) {
	var sections []struct {
		To string `json:"to"`
	}
	_, list, _ := bytes.Cut(text, []byte("="))
	if err := json.Unmarshal(bytes.TrimRight(list, "; \n"), &sections); err != nil {
		return page{}, fmt.Errorf("%s: %w", searchIndex, err)
	}
	var p page
	for _, section := range sections {
		p.links = append(p.links, section.To)
	}
	return p, nil
}

// target is the file that a path leads to from a page.
func target(page, to string) string {
	if to == "" {
		return page
	}
	if fromRoot, ok := strings.CutPrefix(to, "/"); ok {
		return path.Clean(fromRoot)
	}
	return path.Join(path.Dir(page), to)
}

// read collects the ids and the links of a page.
func read(text []byte) page {
	p := page{places: map[string]bool{}}
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return p // the end; a tokenizer of bytes has no other error
		case html.StartTagToken, html.SelfClosingTagToken:
			for _, attribute := range tokens.Token().Attr {
				switch attribute.Key {
				case "id":
					p.places[attribute.Val] = true
				case "href", "src":
					p.links = append(p.links, attribute.Val)
				}
			}
		}
	}
}
