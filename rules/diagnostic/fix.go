package diagnostic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fix has the edits with which an editor or kanon validate --fix removes a finding. They are made together.
type Fix struct {
	// Title says what it does: replace "parnt" with "parent".
	Title string `json:"title"`
	// Edits are in the file of the finding.
	Edits []Edit `json:"edits"`
}

// Edit replaces Old, which begins at the position and is within one line, by New. If Old is empty, New is inserted
// before the position.
type Edit struct {
	Position `json:",inline"`
	Old      string `json:"old"`
	New      string `json:"new"`
}

// WithEdit adds an edit to the fix of a finding. WithLines drops the whole fix if the source does not have the text of
// an edit at its position, because YAML has it in another form.
func (f *Finding) WithEdit(pos Position, before, after string) *Finding {
	if f.Fix == nil {
		f.Fix = &Fix{Title: titleOf(before, after)}
	}
	f.Fix.Edits = append(f.Fix.Edits, Edit{Position: pos, Old: before, New: after})
	return f
}

func titleOf(before, after string) string {
	switch {
	case before == "":
		return fmt.Sprintf("insert %q", after)
	case after == "":
		return fmt.Sprintf("remove %q", before)
	default:
		return fmt.Sprintf("replace %q with %q", before, after)
	}
}

// Suggest adds a hint and a fix that replace the name at the position of the finding by the most similar of the names.
// It does nothing if no name is similar enough.
func (f *Finding) Suggest(name string, names []string) *Finding {
	if near, ok := Nearest(name, names); ok {
		f.WithHint("did you mean %q?", near)
		f.WithEdit(f.Position, name, near)
	}
	return f
}

// settled returns the fix with each edit moved to its text, behind a quote. It returns nil if an edit cannot be made.
func (x *Fix) settled(lineAt func(Position) string) *Fix {
	if x == nil || len(x.Edits) == 0 {
		return nil
	}
	out := &Fix{Title: x.Title, Edits: slices.Clone(x.Edits)}
	for i := range out.Edits {
		e := &out.Edits[i]
		if e.Line == 0 || e.Column == 0 || e.Path != "" {
			return nil
		}
		line := lineAt(e.Position)
		rest := line[ByteOf(line, e.Column-1):]
		if quoted := rest != "" && (rest[0] == '"' || rest[0] == '\''); quoted && e.Old != "" && strings.HasPrefix(rest[1:], e.Old+rest[:1]) {
			e.Column++ // the name is in quotes
			continue
		}
		if !strings.HasPrefix(rest, e.Old) {
			return nil
		}
	}
	return out
}

// Fixed applies the fixes of the findings to data, the source of all of them, and returns the findings that it fixed.
// Of two fixes for the same place, it applies only the first.
func (fs Findings) Fixed(data []byte) (fixed []byte, done Findings) {
	type change struct {
		from, to int
		text     string
	}
	lines := offsets(string(data))
	var changes []change
	for _, f := range fs {
		if f.Fix == nil {
			continue
		}
		var own []change
		free := true
		for _, e := range f.Fix.Edits {
			at, ok := lines.offset(string(data), e)
			next := change{at, at + len(e.Old), e.New}
			if ok && slices.Contains(changes, next) {
				continue // another finding asks for the same
			}
			free = free && ok && !slices.ContainsFunc(changes, func(c change) bool { return next.from <= c.to && c.from <= next.to })
			own = append(own, next)
		}
		if free {
			changes, done = append(changes, own...), append(done, f)
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.from, b.from) })
	at := 0
	for _, c := range changes {
		fixed = append(append(fixed, data[at:c.from]...), c.text...)
		at = c.to
	}
	return append(fixed, data[at:]...), done
}

// lineOffsets has the byte at which each line of a text begins.
type lineOffsets []int

func offsets(text string) lineOffsets {
	rest := strings.TrimPrefix(text, ByteOrderMark)
	var out lineOffsets
	for {
		out = append(out, len(text)-len(rest))
		_, end, after := CutLine(rest)
		if end == "" {
			return out
		}
		rest = after
	}
}

// offset returns the byte at which an edit begins, and false if the text does not have e.Old there.
func (l lineOffsets) offset(text string, e Edit) (int, bool) {
	if e.Line < 1 || e.Line > len(l) || e.Column < 1 {
		return 0, false
	}
	line, _, _ := CutLine(text[l[e.Line-1]:])
	rest := line[ByteOf(line, e.Column-1):]
	if rest == "" && utf8.RuneCountInString(line) != e.Column-1 || !strings.HasPrefix(rest, e.Old) {
		return 0, false
	}
	return l[e.Line-1] + len(line) - len(rest), true
}

// ByteOrderMark may begin a text and has no meaning.
const ByteOrderMark = "\ufeff"

// lineEnds are the characters that end a line in YAML 1.1, section 4.2, which the parser follows: NEL, LS and PS
// besides the usual ones.
const lineEnds = "\n\r\u0085\u2028\u2029"

// CutLine cuts off the first line of a text, as YAML counts lines. The end of the last line is empty.
func CutLine(text string) (line, end, rest string) {
	i := strings.IndexAny(text, lineEnds)
	if i < 0 {
		return text, "", ""
	}
	_, size := utf8.DecodeRuneInString(text[i:])
	if strings.HasPrefix(text[i:], "\r\n") {
		size = len("\r\n")
	}
	return text[:i], text[i : i+size], text[i+size:]
}
