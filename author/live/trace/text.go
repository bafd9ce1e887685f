package trace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/redact"
)

// Style configures how a tree is written as text.
type Style struct {
	// Width is the number of characters of a line; longer notes are wrapped. Zero means no limit.
	Width int
	Color bool
	// All shows every object, even if many of one kind are ready.
	All bool
	// Now is the time to which ages are relative.
	Now time.Time
}

// The lines of a tree, as kubectl tree and others draw them.
const (
	branchLine, lastLine = "├── ", "└── "
	pastLine, emptyLine  = "│   ", "    "
)

// row is a line of a tree with its columns, and the notes below it.
type row struct {
	node *Node
	// prefix are the lines left of the name, below those left of the notes.
	prefix, below string
}

// rows returns the lines of a tree from the top.
func rows(n *Node, prefix, below string) []row {
	all := []row{{n, prefix, below + pastLine}}
	if len(n.Children) == 0 {
		all[0].below = below + emptyLine
	}
	for i, child := range n.Children {
		first, rest := branchLine, pastLine
		if i == len(n.Children)-1 {
			first, rest = lastLine, emptyLine
		}
		all = append(all, rows(child, below+first, below+rest)...)
	}
	return all
}

// text formats a tree with notes below each object.
func text(root *Node, s Style) string {
	t := &table{style: s, header: []string{"NAME", "STATE", "AGE", "RULE", "ID"}}
	above := ""
	for _, r := range rows(root, "", "") {
		t.add(r.node, r.prefix+r.node.title(root.Namespace), string(r.node.State), age(r.node.Created, s.Now), r.node.rules(), r.node.ID)
		why := r.node.why()
		if why != "" && why == above { // as of many Pods with the same problem
			t.note(r.below+"  ", "as the one above")
			continue
		}
		above = why
		for _, note := range r.node.Notes {
			t.note(r.below+"  ", note.text(s.Now))
		}
	}
	return t.String()
}

// why gives the reasons of a node, without times.
func (n *Node) why() string {
	var all []string
	for _, note := range n.Notes {
		all = append(all, note.statement())
	}
	return strings.Join(all, "\n")
}

// wide formats a tree with one line for each object.
func wide(root *Node, s Style) string {
	t := &table{style: s, header: []string{"NAMESPACE", "NAME", "STATE", "AGE", "RULE", "ID", "APIVERSION", "WHY"}}
	for _, r := range rows(root, "", "") {
		n := r.node
		var why []string
		for _, note := range n.Notes {
			why = append(why, note.text(s.Now))
		}
		t.add(n, n.Namespace, r.prefix+n.title(n.Namespace), string(n.State), age(n.Created, s.Now), n.rules(), n.ID, n.APIVersion, strings.Join(why, "; "))
	}
	return t.String()
}

// title names an object in a tree whose root is in namespace.
func (n *Node) title(namespace string) string {
	title := n.Kind
	switch {
	case n.Kind == "":
		return n.Name
	case n.Name != "":
		title += "/" + n.Name
	case n.Selector != "":
		title += " " + n.Selector
	}
	if n.Namespace != "" && n.Namespace != namespace {
		title += " (" + n.Namespace + ")"
	}
	if n.Role == Lookup || n.Role == Patch {
		title = string(n.Role) + " " + title
	}
	return redact.Printable(title)
}

// rules names the rule that the object belongs to and the rules that select it.
func (n *Node) rules() string {
	all := strings.Join(n.Rules, ",")
	if n.Rule != "" && all != "" {
		return n.Rule + " → " + all
	}
	return n.Rule + all
}

// text is a note in one line.
func (n Note) text(now time.Time) string {
	text := n.statement()
	var times []string
	if n.Count > 1 {
		times = append(times, strconv.FormatInt(n.Count, 10)+" times")
	}
	if !n.Since.IsZero() {
		if n.Source == FromEvent {
			times = append(times, age(n.Since, now)+" ago")
		} else {
			times = append(times, "for "+age(n.Since, now))
		}
	}
	if len(times) > 0 {
		text += " (" + strings.Join(times, ", ") + ")"
	}
	return redact.Printable(text)
}

// statement is the text of a note, without times.
func (n Note) statement() string {
	text := n.Text
	if n.Path != "" {
		text = n.Path + ": " + text
	}
	if n.Source == FromEvent {
		text = "event " + text
	}
	return redact.Printable(text)
}

// age formats an age like kubectl: 5m, 3d2h.
func age(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return live.Age(since, now)
}

// table has rows of cells in columns, and between them notes of the full width.
type table struct {
	style  Style
	header []string
	lines  []line
}

// line is a row of a table, or a note.
type line struct {
	state        State
	cells        []string
	indent, note string
}

func (t *table) add(n *Node, cells ...string) {
	t.lines = append(t.lines, line{state: n.State, cells: cells})
}

func (t *table) note(indent, text string) {
	t.lines = append(t.lines, line{indent: indent, note: text})
}

// String is the table as text. The last column has no limit.
func (t *table) String() string {
	var widths live.Widths
	lines := append([]line{{cells: t.header}}, t.lines...)
	for _, l := range lines {
		widths.Fit(l.cells)
	}
	var out strings.Builder
	for _, l := range lines {
		if l.cells != nil {
			out.WriteString(widths.Line(l.cells, func(column int, cell string) string {
				if t.header[column] == "STATE" && l.state != "" {
					return t.paint(colorOf(l.state), cell)
				}
				return cell
			}))
			continue
		}
		for _, part := range wrap(l.note, t.style.Width-utf8.RuneCountInString(l.indent)) {
			out.WriteString(t.paint(dim, l.indent) + part + "\n")
		}
	}
	return out.String()
}

// dim is the colour of lines and of what the rule does not want.
const dim = "2"

func colorOf(s State) string {
	switch {
	case s.IsBad():
		return "31" // red
	case s == Skipped:
		return dim
	case s.IsGood():
		return "32" // green
	default:
		return "33" // yellow
	}
}

func (t *table) paint(color, text string) string {
	if !t.style.Color || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// leastWidth is the least width of a note, however narrow the terminal is.
const leastWidth = 30

// wrap breaks text into lines of a width, between words. A width of zero or less means no limit.
func wrap(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	width = max(width, leastWidth)
	var lines []string
	current := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case current == "":
			current = word
		case utf8.RuneCountInString(current)+1+utf8.RuneCountInString(word) <= width:
			current += " " + word
		default:
			lines, current = append(lines, current), word
		}
	}
	return append(lines, current)
}

// If an object has more than foldedFrom ready objects of one kind below it, only some of them are shown.
const (
	foldedFrom = 5
	shown      = 3
)

// folded returns a tree in which one line stands for many objects that are ready and have no notes. Objects of one kind
// below the same node count together, even if others stand between them.
func (n *Node) folded() *Node {
	out := *n
	out.Children = nil
	alike, seen := map[string]int{}, map[string]int{}
	for _, child := range n.Children {
		if child.isDull() {
			alike[child.likeness()]++
		}
	}
	for _, child := range n.Children {
		kind := child.likeness()
		if !child.isDull() || alike[kind] <= foldedFrom {
			out.Children = append(out.Children, child.folded())
			continue
		}
		switch seen[kind]++; {
		case seen[kind] <= shown:
			out.Children = append(out.Children, child.folded())
		case seen[kind] == shown+1:
			plural := live.Plural(schema.FromAPIVersionAndKind(child.APIVersion, child.Kind))
			out.Children = append(out.Children, &Node{ // without a kind: it stands for several objects
				Role: child.Role, State: child.State, Rule: child.Rule, ID: child.ID, Name: fmt.Sprintf("… and %d more ready %s", alike[kind]-shown, plural),
			})
		}
	}
	return &out
}

// likeness is equal for two nodes that may share one line while both, and all nodes below them, are ready.
func (n *Node) likeness() string {
	return string(n.Role) + "\n" + n.groupKind().String() + "\n" + n.Rule + "\n" + n.ID
}

// isDull reports whether an object and all below it are ready and have no notes.
func (n *Node) isDull() bool {
	return n.State == Ready && len(n.Notes) == 0 && !slices.ContainsFunc(n.Children, func(child *Node) bool { return !child.isDull() })
}
