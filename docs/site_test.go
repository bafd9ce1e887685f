package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var site = flag.String("site", "", "folder of the built site, whose links are checked")

// Each link of the site, and of its search, leads to a file of the site, and to a place in it that exists. Links to
// other sites are not followed. make docs names the site.
func TestSite(t *testing.T) {
	t.Parallel()
	if *site == "" {
		t.Skip("no site was built")
	}
	links, broken, err := checkSite(os.DirFS(*site))
	if err != nil || links < 1000 {
		t.Errorf("%d links: %v", links, err)
	}
	for _, line := range broken {
		t.Error(line)
	}
}

func TestCheckSite(t *testing.T) {
	t.Parallel()
	site := fstest.MapFS{
		"index.html":  {Data: []byte(`<a href="a/b.html#here">1</a> <a href="https://cel.dev">2</a> <a href="#top">3</a> <h1 id="top"></h1> <img src="gone.svg">`)},
		"a/b.html":    {Data: []byte(`<a href="../index.html#nowhere">1</a> <h2 id="here">h</h2> <a href="/style.css">2</a> <a href="c.html">3</a>`)},
		"style.css":   {Data: []byte(`a{}`)},
		"LICENSE":     {Data: []byte(`<a href="x">`)},
		"a/empty.txt": {},
		searchIndex:   {Data: []byte(`window.kanonSections = [{"page":"B","to":"a/b.html#here"},{"page":"B","to":"a/b.html#gone"}];` + "\n")},
	}
	links, broken, err := checkSite(site)
	if err != nil || links != 8 {
		t.Errorf("%d links, %v", links, err)
	}
	want := []string{
		"a/b.html: index.html has no place for the link ../index.html#nowhere",
		"a/b.html: there is no file for the link c.html",
		"index.html: there is no file for the link gone.svg",
		"search-index.js: a/b.html has no place for the link a/b.html#gone",
	}
	if diff := cmp.Diff(want, broken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := checkSite(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is a site")
	}
	if _, _, err := checkSite(fstest.MapFS{searchIndex: {Data: []byte(`window.kanonSections = [`)}}); err == nil {
		t.Error("half of an index is one")
	}
}

// sitePage is what other pages can link to, and what it links to.
type sitePage struct {
	places map[string]bool
	links  []string
}

// checkSite counts the links within a site, and lists those that lead nowhere.
func checkSite(site fs.FS) (links int, broken []string, err error) {
	pages, files, err := loadSite(site)
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
			switch file := linkTarget(name, to.Path); {
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

// loadSite reads the pages of a site, and the names of all its files.
func loadSite(site fs.FS) (pages map[string]sitePage, files map[string]bool, err error) {
	pages, files = map[string]sitePage{}, map[string]bool{}
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
			return err
		}
		if name == searchIndex {
			pages[name], err = readIndex(text)
			return err
		}
		pages[name] = readPage(text)
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
func readIndex(text []byte) (sitePage, error) {
	var sections []struct {
		To string `json:"to"`
	}
	_, list, _ := bytes.Cut(text, []byte("="))
	if err := json.Unmarshal(bytes.TrimRight(list, "; \n"), &sections); err != nil {
		return sitePage{}, fmt.Errorf("%s: %w", searchIndex, err)
	}
	var p sitePage
	for _, section := range sections {
		p.links = append(p.links, section.To)
	}
	return p, nil
}

// linkTarget is the file that a path leads to from a page.
func linkTarget(page, to string) string {
	if to == "" {
		return page
	}
	if fromRoot, ok := strings.CutPrefix(to, "/"); ok {
		return path.Clean(fromRoot)
	}
	return path.Join(path.Dir(page), to)
}

// readPage collects the ids and the links of a page.
func readPage(text []byte) sitePage {
	p := sitePage{places: map[string]bool{}}
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
