package main

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	site := fstest.MapFS{
		"index.html":  {Data: []byte(`<a href="a/b.html#here">1</a> <a href="https://cel.dev">2</a> <a href="#top">3</a> <h1 id="top"></h1> <img src="gone.svg">`)},
		"a/b.html":    {Data: []byte(`<a href="../index.html#nowhere">1</a> <h2 id="here">h</h2> <a href="/style.css">2</a> <a href="c.html">3</a>`)},
		"style.css":   {Data: []byte(`a{}`)},
		"LICENSE":     {Data: []byte(`<a href="x">`)},
		"a/empty.txt": {},
		searchIndex:   {Data: []byte(`window.kanonSections = [{"page":"B","to":"a/b.html#here"},{"page":"B","to":"a/b.html#gone"}];` + "\n")},
	}
	links, broken, err := check(site)
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
	if _, _, err := check(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is a site")
	}
	if _, _, err := check(fstest.MapFS{searchIndex: {Data: []byte(`window.kanonSections = [`)}}); err == nil {
		t.Error("half of an index is one")
	}
}
