package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// ReportConstants reports the issues of CEL's planner, which evaluates constants such as regular expressions.
func ReportConstants(x *celenv.Expression, issues []celenv.Issue, report flow.Report) {
	for _, i := range issues {
		report(constantOffset(x, i), diagnostic.CodeBadConstant, "%s", constantText(i.Message))
	}
}

// constantOffset is the offset of the constant that an issue is about. The issue itself has the offset of the call,
// or a negative one if it is about a regular expression.
func constantOffset(x *celenv.Expression, issue celenv.Issue) int {
	found := issue.Offset
	for _, e := range x.Nodes() {
		if e.Kind() != ast.CallKind {
			continue
		}
		for _, arg := range e.AsCall().Args() {
			text, ok := flow.LiteralText(arg)
			if !ok {
				continue
			}
			_, err := regexp.Compile(text)
			wrong := issue.Offset < 0 && err != nil && strings.Contains(issue.Message, err.Error())
			mine := issue.Offset >= 0 && x.Offset(e.ID()) == issue.Offset
			if wrong || mine && (found == issue.Offset || strings.Contains(issue.Message, strconv.Quote(text))) {
				found = x.Offset(arg.ID())
			}
		}
	}
	return found
}

// phrase puts a message of cel-go into plain words. A message that matches no pattern is shown as it is, so a new
// version of cel-go costs only style.
type phrase struct {
	pattern, text, hint string
}

// stringNotClosed reports a string without a closing quote on its line.
const stringNotClosed = "the string is never closed"

// syntaxText puts a message of the parser into plain words, with a hint.
func syntaxText(message string) (text, hint string) {
	message = strings.Join(strings.Fields(message), " ")
	message = strings.TrimPrefix(message, "Syntax error: ")
	if before, _, found := strings.Cut(message, " expecting "); found {
		if _, only, _ := strings.Cut(message, " expecting "); strings.HasPrefix(only, "'") {
			hint = "write " + strings.Trim(only, "'") + " there" // one token and no other
		}
		message = before
	}
	text, more := rephrase(message, []phrase{
		{`^(?:mismatched|extraneous) input '<EOF>'$`, "the expression ends too early", ""},
		{`^missing '(.+)' at '<EOF>'$`, "the expression ends before its $1", ""},
		{`^no viable alternative at input '.*<EOF>'$`, "the expression ends too early", ""},
		{`^(?:mismatched|extraneous) input '=='?$`, "== has no value on one side", ""},
		{`^(?:mismatched|extraneous) input 'and'$`, "and is not allowed here", "write && for and"},
		{`^(?:mismatched|extraneous) input 'or'$`, "or is not allowed here", "write || for or"},
		{`^(?:mismatched|extraneous) input 'not'$`, "not is not allowed here", "write ! for not"},
		{`^(?:mismatched|extraneous) input '\?'$`, "? is not allowed here", "for a default write .? before the field and orValue(…) behind it, as in parent.spec.?x.orValue(1)"},
		{`^(?:mismatched|extraneous) input '(.+)'$`, "$1 is not allowed here", ""},
		{`^missing '(.+)' at '(.+)'$`, "$1 is missing before $2", ""},
		{`^no viable alternative at input '(.+)'$`, "$1 is not how an expression goes on", ""},
		{`^token recognition error at: '=.*'$`, "a single = is not CEL", "write == to compare"},
		{`^token recognition error at: '&.*'$`, "a single & is not CEL", "write && for and"},
		{`^token recognition error at: '\|.*'$`, "a single | is not CEL", "write || for or; there are no pipes, a function is called as f(x) or x.f()"},
		{`^token recognition error at: '['"].*\\.*$`, "the string is never closed, or has an escape that CEL does not know", "write two backslashes for one"},
		{`^token recognition error at: '['"].*$`, stringNotClosed, ""},
		{`^token recognition error at: '(.+)'$`, "$1 is no character of CEL", ""},
		{`^reserved identifier: (.+)$`, "\"$1\" is a word of CEL and cannot be a name", "give it another name; a field of an object is read in backquotes after a dot, as in parent.spec.`$1`"},
		{`^invalid argument to has\(\) macro$`, "has() asks for a field, as in has(parent.spec.x)", "ask for a key in brackets as in \"a/b\" in parent.metadata.?labels.orValue({})"},
		{`^invalid int literal$`, "this number does not fit an integer of 64 bits", ""},
		{`^argument (?:must be a simple name|is not an identifier)$`, "the first argument must be a name, as in list.map(x, x + 1)", ""},
	})
	if more != "" {
		hint = more
	}
	return text, hint
}

// operator matches operators of other languages that authors write in CEL.
var operator = regexp.MustCompile(`^(?:and\b|or\b|not\s*|=|&)`)

// addOperator adds a fix to a finding that replaces the operator of another language by CEL's.
func addOperator(f *diagnostic.Finding, text, hint string) {
	wrong := operator.FindString(text)
	meant := map[string]string{"and": "&&", "or": "||", "not": "!", "=": "==", "&": "&&"}[strings.TrimSpace(wrong)]
	if meant != "" && strings.HasPrefix(hint, "write "+meant+" ") {
		f.WithEdit(f.Position, wrong, meant)
	}
}

// typesText puts a message of CEL's checker into plain words, with a hint.
func typesText(message string) (text, hint string) {
	message = strings.TrimSuffix(strings.Join(strings.Fields(message), " "), " (in container '')")
	if name, args, ok := noOverload(message); ok {
		return overloadText(name, args)
	}
	return rephrase(message, []phrase{
		{`^undeclared reference to '(has)'$`, "has() cannot be called like this", "write has(parent.spec.x)"},
		{`^undeclared reference to '(map|filter|all|exists|exists_one|existsOne|sortBy)'$`, "$1() cannot be called like this", "write list.$1(x, …), with a name for the items"},
		{`^undeclared reference to '(.+)'$`, "$1 cannot be called like this", ""},
		{`^type '(.+)' does not support field selection$`, "this is of the type $1, which has no fields", ""},
		{`^expected type 'bool' but found '(.+)'$`, "true or false is needed here, and this gives $1", "for a default write .? before the field and orValue(…) behind it, as in parent.spec.?x.orValue(1)"},
		{`^expected type '(.+)' but found '(.+)'$`, "$1 is needed here, and this gives $2", ""},
		{`^incompatible type already exists for expression.*$`, "the types of this expression contradict each other", ""},
	})
}

// noOverload parses a message about a call into the function and the types of its arguments. For a method, the type of
// the receiver and a dot come first.
func noOverload(message string) (name, args string, ok bool) {
	m := regexp.MustCompile(`^found no matching overload for '(.+)' applied to '(.*)'$`).FindStringSubmatch(message)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

func overloadText(name, args string) (text, hint string) {
	receiver, rest, method := strings.Cut(args, ".(")
	if !method {
		receiver, rest = "", strings.TrimPrefix(args, "(")
	}
	list := plainTypes(strings.TrimSuffix(rest, ")"))
	types := strings.Split(list, ", ")
	symbol, operator := operators.FindReverse(name)
	switch {
	case name == operators.Index && len(types) == 2:
		return fmt.Sprintf("%s has no items of index %s", types[0], types[1]), ""
	case name == operators.Conditional && types[0] != "bool" && types[0] != "any":
		return fmt.Sprintf("the condition before ? must be true or false, and this gives %s", types[0]), ""
	case name == operators.Conditional:
		text = "both sides of : must have the same type, and this gives " + strings.Join(types[1:], " and ")
		if strings.Contains(list, "null") {
			hint = "write optionalIf(condition, value) for a value that may be left out, or dyn(null)"
		} else if slices.Contains(types, "string") {
			hint = "write string(…) around the other one"
		}
		return text, hint
	case operator && symbol != "" && len(types) == 2 && strings.Contains(list, "optional"):
		return fmt.Sprintf("%s does not take %s and %s", symbol, types[0], types[1]), "give the optional value a default with orValue(…)"
	case operator && symbol != "" && len(types) == 2:
		return fmt.Sprintf("%s does not take %s and %s", symbol, types[0], types[1]), function.HowToConvert(types...)
	case operator && symbol != "":
		return fmt.Sprintf("%s does not take %s", symbol, list), ""
	}
	if list == "" {
		list = "no arguments"
	}
	switch receiver {
	case "", "dyn":
		return fmt.Sprintf("%s() does not take %s", name, list), ""
	}
	return fmt.Sprintf("%s() of %s does not take %s", name, plainTypes(receiver), list), ""
}

// plainTypes writes CEL's types in plain words. The type dyn is "any": it is not known before the rule runs.
func plainTypes(types string) string {
	return strings.NewReplacer("optional_type(dyn)", "an optional value", "optional_type", "optional", "dyn", "any",
		"google.protobuf.Timestamp", "timestamp", "google.protobuf.Duration", "duration", "null_type", "null").Replace(types)
}

// constantText puts a message of CEL's planner into plain words.
func constantText(message string) string {
	text, _ := rephrase(strings.Join(strings.Fields(message), " "), []phrase{
		{"^error parsing regexp: (.+)$", "this is no regular expression: $1", ""},
		{`^type conversion error from '(.+)' to '(.+)'$`, "this $1 cannot be made $2", ""},
	})
	return text
}

func rephrase(message string, phrases []phrase) (text, hint string) {
	for _, p := range phrases {
		re := regexp.MustCompile(p.pattern)
		if m := re.FindStringSubmatchIndex(message); m != nil {
			return string(re.ExpandString(nil, p.text, message, m)), string(re.ExpandString(nil, p.hint, message, m))
		}
	}
	words := strings.Split(message, "'")
	for i, w := range words {
		if symbol, ok := operators.FindReverse(w); ok && symbol != "" {
			words[i] = symbol
		}
	}
	return strings.Join(words, "'"), ""
}
