package ignore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/yamltree"
)

// Path is one item of a child's ignore: the path of a field that Kanon sets when it creates the object, and leaves to others
// from then on.
//
// Its text is a name, followed by any number of .name, [key] and [name=value,…]:
//
//	spec.replicas
//	metadata.annotations[a.b/c]
//	spec.template.spec.containers[name=web].image
//
// Names consist of letters, digits, _, - and $. Brackets have the key of a map, or the fields that identify an item of a list.
// In quotes, as in JSON, both can have any character, and ["…"] is always a key. Everything below the path is ignored as well.
type Path []Step

// Step is one step of a Path.
type Step struct {
	// Field is the name of a field, or the key of a map. It is empty if there are Keys.
	Field string
	// Keys identify items of a list by the text of some of their fields.
	Keys map[string]string
}

// String is the path as a rule writes it.
func (p Path) String() string {
	var b strings.Builder
	for i, step := range p {
		switch {
		case step.Keys != nil:
			var pairs []string
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				pairs = append(pairs, name+"="+bracketText(step.Keys[name], `,]"`))
			}
			b.WriteString("[" + strings.Join(pairs, ",") + "]")
		case !yamltree.IsPathName(step.Field):
			b.WriteString("[" + bracketText(step.Field, `=,]"*`) + "]")
		case i > 0:
			b.WriteString("." + step.Field)
		default:
			b.WriteString(step.Field)
		}
	}
	return b.String()
}

// Equal reports whether two paths are the same.
func (p Path) Equal(other Path) bool {
	return slices.EqualFunc(p, other, func(a, b Step) bool { return a.Field == b.Field && maps.Equal(a.Keys, b.Keys) })
}

// bracketText is text for brackets, in quotes if it has a special character.
func bracketText(text, special string) string {
	if text == "" || strings.ContainsAny(text, special) || isDigits(text) {
		encoded, err := json.Marshal(text)
		if err == nil {
			return string(encoded)
		}
	}
	return text
}

// Parsed is a Path and the offset of each step in its text.
type Parsed struct {
	Steps Path
	At    []int
}

// Error is a mistake in the text of a path.
type Error struct {
	Offset        int
	Message, Hint string
	// Meant is the whole path as it was probably meant; empty if that is not known.
	Meant string
}

// parser parses the text of a path.
type parser struct {
	text string
	pos  int
	out  Parsed
}

// Parse parses the text of a path.
func Parse(text string) (Parsed, *Error) {
	p := &parser{text: text}
	for first := true; first || p.pos < len(p.text); first = false {
		if err := p.step(first); err != nil {
			return Parsed{}, err
		}
	}
	return p.out, nil
}

func (p *parser) fail(offset int, hint, format string, args ...any) *Error {
	return &Error{Offset: offset, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// meant is the error for a path that has to be written as another text.
func (p *parser) meant(text, message string) *Error {
	return &Error{Message: message, Hint: fmt.Sprintf("write %q", text), Meant: text}
}

// step parses one step, with the dot before it.
func (p *parser) step(first bool) *Error {
	if p.text[p.pos] == '[' {
		if first {
			return p.fail(p.pos, "write metadata.labels[app], for example", "a path begins with the name of a field")
		}
		return p.bracket()
	}
	if !first {
		if p.text[p.pos] != '.' {
			return p.fail(p.pos, "put a key that holds such characters in brackets, as in metadata.annotations[a.b/c]",
				"there is %q where a dot or a bracket must be", p.rest())
		}
		p.pos++
	}
	start := p.pos
	for p.pos < len(p.text) && yamltree.IsPathName(p.text[p.pos:p.pos+1]) {
		p.pos++
	}
	switch {
	case p.pos > start:
		p.add(start, Step{Field: p.text[start:p.pos]})
		return nil
	case first && strings.HasPrefix(p.text, "/"):
		return p.meant(strings.ReplaceAll(p.text[1:], "/", "."), "a path is written with dots")
	case first && strings.HasPrefix(p.text, "."):
		return p.meant(p.text[1:], "a path begins with the name of a field")
	case p.pos == len(p.text):
		return p.fail(start, "", "a name is missing after the dot")
	}
	return p.fail(start, "", "there is %q where a name must be", p.rest())
}

func (p *parser) add(start int, step Step) {
	p.out.Steps, p.out.At = append(p.out.Steps, step), append(p.out.At, start)
}

// rest is the character at the position.
func (p *parser) rest() string {
	for i := range p.text[p.pos:] {
		if i > 0 {
			return p.text[p.pos : p.pos+i]
		}
	}
	return p.text[p.pos:]
}

// bracket parses [key] or [name=value,…].
func (p *parser) bracket() *Error {
	start := p.pos
	p.pos++
	end := p.pos + strings.IndexAny(p.text[p.pos:]+"]", "=],")
	name := p.text[p.pos:end]
	switch {
	case strings.HasPrefix(name, `"`):
		key, err := p.quoted()
		if err != nil {
			return err
		}
		p.add(start, Step{Field: key})
		return p.close(start)
	case end < len(p.text) && p.text[end] == '=':
		return p.pairs(start)
	case name == "":
		return p.fail(start, "write the key of a map, or what identifies the item of a list, as in [name=web]", "there is nothing in the brackets")
	case isDigits(name):
		return p.fail(p.pos, fmt.Sprintf("write [name=…] for an item, or [%q] for a key", name),
			"the items of a list are named by the fields that identify them, not by their position")
	case strings.Contains(name, "*"):
		return p.fail(p.pos, "name the item, as in [name=web], or ignore the list as a whole", "a path names one field; there is no * in it")
	}
	p.pos = end
	p.add(start, Step{Field: name})
	return p.close(start)
}

// pairs parses the names and values that identify an item.
func (p *parser) pairs(start int) *Error {
	keys := map[string]string{}
	for {
		at := p.pos
		end := at + strings.IndexAny(p.text[at:]+"]", "=],")
		name := p.text[at:end]
		switch {
		case end == len(p.text) || p.text[end] != '=':
			return p.fail(at, "write [name=value], and a comma between several", "there is no = after %q", name)
		case !yamltree.IsPathName(name):
			return p.fail(at, "", "%q is not the name of a field", name)
		}
		if _, twice := keys[name]; twice {
			return p.fail(at, "", "%s is given twice in the brackets", name)
		}
		p.pos = end + 1
		value, err := p.value()
		if err != nil {
			return err
		}
		keys[name] = value
		if p.pos == len(p.text) || p.text[p.pos] != ',' {
			break
		}
		p.pos++
	}
	p.add(start, Step{Keys: keys})
	return p.close(start)
}

// value parses what follows =.
func (p *parser) value() (string, *Error) {
	if strings.HasPrefix(p.text[p.pos:], `"`) {
		return p.quoted()
	}
	end := p.pos + strings.IndexAny(p.text[p.pos:]+"]", ",]")
	value := p.text[p.pos:end]
	if value == "" {
		return "", p.fail(p.pos, `write "" for an empty text`, "a value is missing after =")
	}
	p.pos = end
	return value, nil
}

// quoted parses text in quotes, as in JSON.
func (p *parser) quoted() (string, *Error) {
	decoder := json.NewDecoder(strings.NewReader(p.text[p.pos:]))
	var text string
	if err := decoder.Decode(&text); err != nil {
		return "", p.fail(p.pos, "", "the text in quotes is never closed, or is not text as JSON has it")
	}
	p.pos += int(decoder.InputOffset())
	return text, nil
}

func (p *parser) close(start int) *Error {
	if p.pos == len(p.text) {
		return p.fail(start, "", "the bracket is never closed")
	}
	if p.text[p.pos] != ']' {
		return p.fail(p.pos, "", "there is %q where the bracket must be closed", p.rest())
	}
	p.pos++
	return nil
}

// isDigits reports whether a text is made of digits only.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
