package yamltree

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// document is a range of lines, without last. Lines count from 0.
type document struct {
	first, last int
}

// Documents splits the source at the lines that start with ---. In YAML, such a line ends a document even within a
// block string. So a document that does not parse does not affect the others.
func (s *Source) Documents() []document {
	var docs []document
	start := 0
	for i, l := range s.lines {
		if i > start && (l == "---" || strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "---\t")) {
			docs = append(docs, document{first: start, last: i})
			start = i
		}
	}
	return append(docs, document{first: start, last: len(s.lines)})
}

// Start returns the position of the first line of a document.
func (s *Source) Start(d document) diagnostic.Position {
	return s.outside(diagnostic.Position{File: s.name, Line: d.first + 1, Column: 1})
}

// TextOf returns the text of a document with its original line ends.
func (s *Source) TextOf(d document) string {
	var b strings.Builder
	for i := d.first; i < d.last; i++ {
		b.WriteString(s.lines[i])
		b.WriteString(s.ends[i])
	}
	return b.String()
}

// LinesOf returns the lines of a document, without their ends.
func (s *Source) LinesOf(d document) []string { return s.lines[d.first:d.last] }

// Parse parses a document into nodes for Build. An empty document gives no nodes. A document with ... in it, which ends
// a YAML document, can give several.
func (s *Source) Parse(d document) ([]*yaml.Node, *diagnostic.Finding) {
	nodes, err := parseYAML(s.text(d.first, d.last))
	if err != nil {
		return nil, s.syntaxError(d, err)
	}
	for _, n := range nodes {
		shift(n, d.first)
		s.roots = append(s.roots, n)
		if s.paths != nil {
			s.enter(n, nil)
		}
	}
	return nodes, nil
}

func parseYAML(text string) (nodes []*yaml.Node, err error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return nodes, nil
		}
		if err != nil {
			return nil, err
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			nodes = append(nodes, n.Content[0])
		}
	}
}

func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

// errProbed is the error of a probe after maxProbed bytes.
var errProbed = errors.New("too much was parsed again already")

// syntaxError reports where a document stops being YAML. The parser names only a line, often that of the construct
// around the mistake. So syntaxError searches for the position: the end of the longest prefix of the document that
// parses.
func (s *Source) syntaxError(d document, err error) *diagnostic.Finding {
	message, line := parserMessage(err)
	pos := diagnostic.Position{File: s.name, Line: d.first + max(line, 1), Column: 1}
	if found, ok := s.probe(d, err); ok {
		pos = found
	}
	text := ""
	if i := pos.Line - 1; i >= 0 && i < len(s.lines) {
		text = s.lines[i]
	}
	if strings.HasPrefix(message, "did not find expected ',' or") {
		// The parser took the braces of an expression for a flow mapping.
		if i := bareExpression(text); i >= 0 {
			pos.Column = max(pos.Column, utf8.RuneCountInString(text[:i])+1)
		}
	}
	if blockInBraces.MatchString(text) {
		at := strings.LastIndexAny(text, "|>")
		pos.Column = utf8.RuneCountInString(text[:at]) + 1
		f := diagnostic.New(s.outside(pos), diagnostic.CodeNotYAML, "not YAML: %s begins a block of lines, which cannot stand within braces or brackets", text[at:at+1])
		f.WithHint("write the mapping on lines of its own, without braces, or the text in quotes")
		return f
	}
	f := diagnostic.New(s.outside(pos), diagnostic.CodeNotYAML, "not YAML: %s", message)
	if f.Hint = quoteHint(text); f.Hint == "" {
		f.Hint = s.indentHint(pos.Line)
	}
	return f
}

// blockInBraces matches a line whose last value, after an opening brace or bracket that is not closed, is a block scalar.
var blockInBraces = regexp.MustCompile(`[{\[][^}\]]*: *[|>][-+\d]*$`)

// indentHint returns the hint for a line that begins between the columns of the lines above it: below none of them.
func (s *Source) indentHint(line int) string {
	indent := func(i int) int { return len(s.lines[i]) - len(strings.TrimLeft(s.lines[i], " ")) }
	if line < 1 || line > len(s.lines) {
		return ""
	}
	at, deeper := indent(line-1), 0
	for i := line - 2; i >= 0; i-- {
		text := strings.TrimLeft(s.lines[i], " ")
		if text == "" || text[0] == '#' {
			continue
		}
		above := len(s.lines[i]) - len(itemOf(s.lines[i])) // what follows a dash stands deeper than it
		switch {
		case above == at || indent(i) == at && above > at && strings.HasPrefix(strings.TrimLeft(s.lines[line-1], " "), "- "):
			return ""
		case above > at:
			deeper = i + 1
		case deeper > 0:
			return fmt.Sprintf("it begins to the left of line %d and to the right of line %d: begin it below one of them", deeper, i+1)
		default:
			return ""
		}
	}
	return ""
}

// bareExpression returns the offset of the first expression outside of quotes, or -1.
func bareExpression(line string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], expressionStart)
		if i < 0 {
			return -1
		}
		if from += i; strings.Count(line[:from], `"`)%2 == 0 && strings.Count(line[:from], "'")%2 == 0 {
			return from
		}
		from += len(expressionStart)
	}
}

// probe searches for the end of the longest prefix that parses. It gives up after maxProbed bytes.
func (s *Source) probe(d document, failure error) (diagnostic.Position, bool) {
	lines := s.LinesOf(d)
	parses := func(n int, rest string) error {
		text := s.text(d.first, d.first+n) + rest
		if s.probed >= maxProbed {
			return errProbed
		}
		s.probed += max(len(text), leastProbed)
		_, err := parseYAML(text)
		return err
	}
	// Find the first line with which the parser fails in the same way.
	low, high := 1, len(lines)
	for low < high {
		mid := (low + high) / 2
		if err := parses(mid, ""); err != nil && err.Error() == failure.Error() {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if s.probed >= maxProbed {
		return diagnostic.Position{}, false
	}
	good := low - 1
	for probes := 0; good > 0 && parses(good, "") != nil; good-- {
		if probes++; probes > maxProbes || s.probed >= maxProbed {
			return diagnostic.Position{}, false
		}
	}
	if good >= len(lines) {
		return diagnostic.Position{}, false
	}
	line := lines[good]
	if len(line) > maxProbes {
		return diagnostic.Position{File: s.name, Line: d.first + good + 1, Column: 1}, true
	}
	column := len(line)
	for column > 0 && s.probed < maxProbed && parses(good, line[:column]) != nil {
		column--
	}
	if s.probed >= maxProbed {
		column = 0
	}
	column = max(column, len(line)-len(strings.TrimLeft(line, " \t")))
	return diagnostic.Position{File: s.name, Line: d.first + good + 1, Column: utf8.RuneCountInString(line[:column]) + 1}, true
}

// parserMessage splits the message of the YAML parser into its text and its line.
func parserMessage(err error) (message string, line int) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if n, scanErr := fmt.Sscanf(message, "line %d:", &line); scanErr == nil && n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	return message, line
}

// QuoteColon is the hint for a value that YAML reads as a mapping because of a colon in it.
const QuoteColon = `put quotes around the whole value: YAML takes what is before ": " for a key`

// itemOf returns a line without indentation and the dashes of list items.
func itemOf(line string) string {
	item := strings.TrimLeft(line, " ")
	for rest, ok := item, true; ok; rest, ok = strings.CutPrefix(item, "- ") {
		item = strings.TrimLeft(rest, " ")
	}
	return item
}

// hasInnerColon reports whether a line has a value without quotes around it that contains a colon in quotes or
// brackets, such as a == {"b": 1}.
func hasInnerColon(line string) bool {
	const opening = `{["'`
	key, value, found := strings.Cut(itemOf(line), ": ")
	if !found {
		return false
	}
	if strings.ContainsAny(key, " (") && strings.ContainsAny(key, opening) {
		return true
	}
	return value != "" && !strings.ContainsAny(value[:1], opening) && strings.ContainsAny(value, opening) && strings.Contains(value, ": ")
}

// quoteHint returns the hint for a line that does not parse and contains an expression, a colon or the type of a list.
func quoteHint(line string) string {
	switch {
	case strings.HasPrefix(itemOf(line), "{{"):
		return "{{ … }} means nothing to Kanon: the when of a child says whether it exists, and its forEach how often"
	case goesOn.MatchString(itemOf(line)):
		return "put quotes around the whole value: YAML takes it to end where what it begins with, a quote or a bracket, is closed"
	case listType.MatchString(line):
		return "put quotes around a type that begins with []: YAML has a list there"
	case strings.Contains(line, expressionStart):
		return "put quotes around the value that contains ${…}, or write it on the lines below >-"
	case hasInnerColon(line):
		return QuoteColon
	}
	return ""
}

var (
	// listType matches a list type in the short schema of a kind, such as []string.
	listType = regexp.MustCompile(`: *\[\][\[\pL]`)
	// goesOn matches a value that goes on as an expression after YAML ended it, as in "a" == b, {"a": 1} == b or [1].all(…).
	goesOn = regexp.MustCompile(`^(?:[^{["']*: +)?(?:"[^"]*"|'[^']*'|\{.*\}|\[.*\]) *(?:[=!<>+*/%?.&|-]|in )`)
)
