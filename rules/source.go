package rules

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// source is the text of one file or ConfigMap key.
type source struct {
	name string
	// lines are those that YAML counts, without their ends, which are in ends; the
	// last line may have none.
	lines, ends []string
	// outer and holder are set for a text that is itself a value in a file: the
	// key of a ConfigMap. Positions are then those in the file.
	outer  *source
	holder *yaml.Node
	// paths are set for the text of an object, which nobody can see: where each node
	// is in the object.
	paths map[*yaml.Node]string
	// offsets are what starts gives, made at its first call: findings of several rules
	// may ask at the same time.
	once    sync.Once
	offsets []int
	// probed is how many bytes were parsed again to find out where documents go wrong.
	probed int
}

// byteOrderMark may stand at the beginning of a text and says nothing.
const byteOrderMark = "\ufeff"

func newSource(name string, data []byte) *source {
	s := &source{name: name}
	rest := strings.TrimPrefix(string(data), byteOrderMark)
	for {
		line, end := rest, ""
		if i := strings.IndexAny(rest, lineEnds); i >= 0 {
			_, size := utf8.DecodeRuneInString(rest[i:])
			if strings.HasPrefix(rest[i:], "\r\n") {
				size = len("\r\n")
			}
			line, end = rest[:i], rest[i:i+size]
		}
		s.lines, s.ends = append(s.lines, line), append(s.ends, end)
		if end == "" {
			return s
		}
		rest = rest[len(line)+len(end):]
	}
}

// lineEnds are the characters that end a line in YAML 1.1, section 4.2, which is
// what the parser counts: NEL, LS and PS besides the usual ones.
const lineEnds = "\n\r\u0085\u2028\u2029"

// text is that of some lines, each with its end.
func (s *source) text(first, last int) string {
	var b strings.Builder
	for i := first; i < last; i++ {
		b.WriteString(s.lines[i])
		b.WriteString(s.ends[i])
	}
	if last > first && s.ends[last-1] == "" {
		b.WriteString("\n")
	}
	return b.String()
}

// at is where a node stands.
func (s *source) at(n *yaml.Node) diagnostic.Position {
	if n == nil {
		return diagnostic.Position{File: s.name}
	}
	if s.paths != nil {
		return s.inObject(n, 0)
	}
	return s.outside(diagnostic.Position{File: s.name, Line: n.Line, Column: n.Column})
}

// outside turns a position in the text into one in the file that holds it.
func (s *source) outside(p diagnostic.Position) diagnostic.Position {
	if s.outer == nil || p.Line < 1 || p.Line > len(s.lines) {
		return p
	}
	return s.outer.within(s.holder, s.starts()[p.Line-1]+byteColumn(s.lines[p.Line-1], max(p.Column, 1)))
}

// starts are the offsets of the lines in the value that holds the text.
func (s *source) starts() []int {
	s.once.Do(func() {
		at := 0
		if strings.HasPrefix(s.holder.Value, byteOrderMark) {
			at = len(byteOrderMark)
		}
		s.offsets = make([]int, len(s.lines))
		for i := range s.lines {
			s.offsets[i] = at
			at += len(s.lines[i]) + len(s.ends[i])
		}
	})
	return s.offsets
}

// lineAt is the line of a position that at, within or outside gave.
func (s *source) lineAt(p diagnostic.Position) string {
	for s.outer != nil {
		s = s.outer
	}
	if p.Line < 1 || p.Line > len(s.lines) {
		return ""
	}
	return s.lines[p.Line-1]
}

// document is one document of a source.
type document struct {
	first, last int // its lines, from 0, last not included
}

// documents splits the source at the lines that start with ---. In YAML such a
// line ends a document wherever it stands, even within a block string, so one
// document that does not parse keeps none of the others from being read.
func (s *source) documents() []document {
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

// parse reads a document's lines. A document without content gives no nodes;
// one in which ... ends a document and another follows gives several.
func (s *source) parse(d document) ([]*yaml.Node, *diagnostic.Finding) {
	nodes, err := parseYAML(s.text(d.first, d.last))
	if err != nil {
		return nil, s.syntaxError(d, err)
	}
	for _, n := range nodes {
		shift(n, d.first)
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

// shift moves a tree down by so many lines.
func shift(n *yaml.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}

const (
	// maxProbes bounds how often a document that does not parse is parsed again to
	// find out where it goes wrong, maxProbed how many bytes of a source are, and
	// leastProbed is what each time counts at the least: parsing takes about 100 ns for
	// a byte.
	maxProbes, maxProbed, leastProbed = 200, 4 << 20, 4 << 10
	// maxDocuments is how many documents a source can have.
	maxDocuments = 5_000
)

// errProbed is what a document comes to that is not parsed any more.
var errProbed = errors.New("too much was parsed again already")

// syntaxError says where a document stops being YAML. The parser names a line,
// often of the construct around, and no column; so the place is looked for:
// behind the longest beginning of the document that does parse.
func (s *source) syntaxError(d document, err error) *diagnostic.Finding {
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
		// The braces of the expression were taken for those of YAML.
		if i := bareExpression(text); i >= 0 {
			pos.Column = max(pos.Column, utf8.RuneCountInString(text[:i])+1)
		}
	}
	f := diagnostic.New(s.outside(pos), diagnostic.CodeNotYAML, "not YAML: %s", message)
	f.Hint = quoteHint(text)
	return f
}

// bareExpression is where the first expression outside of quotes starts, or -1.
func bareExpression(line string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], "${")
		if i < 0 {
			return -1
		}
		if from += i; strings.Count(line[:from], `"`)%2 == 0 && strings.Count(line[:from], "'")%2 == 0 {
			return from
		}
		from += len("${")
	}
}

// probe looks for the end of the longest beginning that parses.
func (s *source) probe(d document, failure error) (diagnostic.Position, bool) {
	lines := s.lines[d.first:d.last]
	parses := func(n int, rest string) error {
		text := s.text(d.first, d.first+n) + rest
		if s.probed >= maxProbed {
			return errProbed
		}
		s.probed += max(len(text), leastProbed)
		_, err := parseYAML(text)
		return err
	}
	// The first line with which the parser gives up the same way.
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

// parserMessage takes the YAML parser's message apart.
func parserMessage(err error) (message string, line int) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	var rest string
	if n, scanErr := fmt.Sscanf(message, "line %d:", &line); scanErr == nil && n == 1 {
		_, rest, _ = strings.Cut(message, ": ")
		message = rest
	}
	return message, line
}

// quoted is a name the way findings show it.
func quoted(s string) string { return strconv.Quote(s) }
