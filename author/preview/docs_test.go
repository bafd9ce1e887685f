package preview_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

var update = flag.Bool("update", false, "rewrite the results in docs")

// The examples of the documents give what they show.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, examples := range map[string]int{"cookbook.md": 40, "migrating.md": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPage(t, "../../docs/"+name, "", examples)
		})
	}
	parent := referenceParent(t)
	for name, examples := range map[string]int{
		"rule": 8, "expressions": 7, "schema": 1, "children": 10, "updates": 10, "state": 7, "patches": 2, "status": 5, "deletion": 6, "limits": 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkPage(t, "../../docs/reference/"+name+".md", parent, examples)
		})
	}
}

// referenceParent is the parent of the examples of the reference, which its first page shows.
func referenceParent(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range blocksOf(string(page)) {
		if block.info == "yaml parent" {
			return block.text
		}
	}
	t.Fatal("the reference has no parent for its examples")
	return ""
}

// checkPage checks the examples of a page, which has so many of them at least. They are for that parent, or for the last one on the page.
func checkPage(t *testing.T, path, parent string, least int) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(string(page))
	examples := 0
	for i, block := range blocks {
		switch block.info {
		case "yaml parent":
			parent = block.text
		case "yaml rule":
			examples++
			if parent == "" {
				t.Fatal("an example before the parent")
			}
			checkExample(t, blocks, i, parent)
		}
	}
	if examples < least {
		t.Fatalf("found %d examples; the page has changed its form", examples)
	}
	if !*update {
		return
	}
	var rewritten strings.Builder
	for _, block := range blocks {
		rewritten.WriteString(block.String())
	}
	if err := os.WriteFile(path, []byte(rewritten.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// block is a part of the page: text, or what stands between two fences.
type block struct {
	info   string // of the fence
	fenced bool
	text   string
}

func (b block) String() string {
	if !b.fenced {
		return b.text
	}
	return "```" + b.info + "\n" + b.text + "```\n"
}

func blocksOf(page string) []block {
	var blocks []block
	current := block{}
	for line := range strings.Lines(page) {
		info, isFence := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "```")
		if !isFence {
			current.text += line
			continue
		}
		blocks = append(blocks, current)
		current = block{info: info, fenced: !current.fenced}
	}
	return append(blocks, current)
}

// checkExample evaluates the rule in blocks[i], with the objects and for the result
// that stand right after it.
func checkExample(t *testing.T, blocks []block, i int, parent string) {
	t.Helper()
	in := preview.Input{
		Program: exampleProgram(t, blocks[i].text), Parent: object(t, parent),
		Now: time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC),
	}
	at := i + 1
	if next(blocks, &at, "yaml with") {
		for text := range strings.SplitSeq(blocks[at].text, "---\n") {
			in.With = append(in.With, object(t, text))
		}
		at++
	}
	if in.Program == nil {
		return
	}
	var got strings.Builder
	if err := evaluate(t, in).Write(&got); err != nil {
		t.Fatal(err)
	}
	_, result, _ := strings.Cut(got.String(), "\n") // which names rule and parent
	if !next(blocks, &at, "yaml result") {
		t.Errorf("this example shows no result:\n%s", blocks[i].text)
		return
	}
	if *update {
		blocks[at].text = result
	} else if diff := cmp.Diff(blocks[at].text, result); diff != "" {
		t.Errorf("%s(-want +got):\n%s", blocks[i].text, diff)
	}
}

// next moves to the fence that follows at once, and tells whether it is of that kind.
func next(blocks []block, at *int, info string) bool {
	i := *at
	if i < len(blocks) && !blocks[i].fenced && strings.TrimSpace(blocks[i].text) == "" {
		i++
	}
	if i >= len(blocks) || blocks[i].info != info {
		return false
	}
	*at = i
	return true
}

// exampleProgram compiles an example, which is a whole rule or a part of its spec.
func exampleProgram(t *testing.T, text string) *program.Program {
	t.Helper()
	if !strings.HasPrefix(text, "apiVersion: ") {
		spec := text
		if !strings.Contains("\n"+text, "\nparent:") {
			spec = "parent: {apiVersion: shop.example.com/v1, kind: WebApp}\n" + text
		}
		text = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: example}\nspec:\n  " +
			strings.TrimSuffix(strings.ReplaceAll(spec, "\n", "\n  "), "  ")
	}
	docs, findings := syntax.Decode("example", []byte(text))
	for _, rule := range docs.Rules {
		program, more := rules.Compile(rule, rules.Options{})
		if findings = append(findings, more...); program != nil && len(findings) == 0 {
			return program
		}
	}
	t.Errorf("%s\n%s", text, findings)
	return nil
}
