package explain

import (
	"fmt"
	"strings"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// Greeting names the parent and the basic commands.
func (s *Session) Greeting() string {
	const how = "Type an expression, or :help. Tab completes, Ctrl-D ends."
	if s.NoParent {
		return how
	}
	return s.about + ". " + how
}

// Help explains a function, a macro or a name; without a name, the prompt.
func (s *Session) Help(name string) string {
	if name == "" {
		return s.overview()
	}
	if about := Meaning(name); about != "" {
		text := name + ": " + about + "\n"
		if members := s.compiler.Members(name, s.Child); len(members) > 0 {
			text += "\n    " + strings.Join(members, "\n    ") + "\n"
		}
		return text
	}
	if text, ok := docs.Function(name); ok {
		return docs.Plain(text)
	}
	env, err := celenv.Shared()
	if err != nil {
		return err.Error() + "\n"
	}
	if forms := env.Signatures(name); len(forms) > 0 {
		return strings.Join(forms, "\n") + "\n"
	}
	text := fmt.Sprintf("there is no function called %q", name)
	if near := diagnostic.DidYouMean(name, env.FunctionNames()); near != "" {
		text += "; " + near
	}
	return text + "\n"
}

// overview lists the names and the commands.
func (s *Session) overview() string {
	var b strings.Builder
	b.WriteString("An expression prints its value, its type and its cost. Text with ${…} in it is a template.\n\n")
	names := s.Names()
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		about := Meaning(name)
		if about == "" {
			about = "an item of forEach"
		}
		if members := s.compiler.Members(name, s.Child); flow.IsGroup(name) {
			about += ": " + strings.Join(members, ", ")
			if len(members) == 0 {
				continue
			}
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, name, about)
	}
	b.WriteString(`
  :help NAME  explain a function or a macro, such as :help merge
  :quit       end, as Ctrl-D does

Tab completes names, fields and functions; the arrow keys go through what you asked before.
`)
	return b.String()
}

// Meaning explains a name of the language; empty for any other name.
func Meaning(name string) string {
	return map[string]string{
		flow.RootParent:     "the object that the rule is for",
		flow.RootVariables:  "the variables of the rule, by their names",
		flow.RootLookups:    "what the rule looks up, by the ids of the lookups",
		flow.RootChildren:   "the live objects of children, by their ids",
		flow.RootObserved:   "the live objects of children as they were before this evaluation, or null",
		flow.RootEach:       "the objects of the same item, by the ids of their children",
		flow.RootSelf:       "the live object of the child",
		flow.RootStatus:     "the status as it is rendered",
		flow.RootNow:        "timestamp: the time of this evaluation",
		flow.RootFinalizing: "bool: whether the parent is being deleted",
	}[name]
}

// Function is a function or macro of the language.
type Function struct {
	Name string
	// Forms are the ways to call it, such as string.startsWith(string).
	Forms []string
	// Doc is its documentation in Markdown.
	Doc string
}

// Functions lists what can be called on a value of a type as forms name it, such as string or any; with an empty
// receiver, what can be called without one.
func Functions(receiver string) []Function {
	env, err := celenv.Shared()
	if err != nil {
		return nil // the findings say so
	}
	var all []Function
	for _, name := range env.FunctionNames() {
		doc, of := documented(name)
		f := Function{Name: name, Doc: doc}
		signatures := env.Signatures(name)
		for _, form := range signatures {
			on, _, isMethod := strings.Cut(form, "."+name+"(")
			if isMethod && receiver != "" && fits(on, receiver) || !isMethod && receiver == "" {
				f.Forms = append(f.Forms, form)
			}
		}
		isMacro := len(signatures) == 0 && doc != ""
		if isMacro && (of == "") == (receiver == "") && (fits(of, receiver) || of == "list" && receiver == "map") {
			f.Forms = []string{name + "(…)"}
		}
		if len(f.Forms) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// fits reports whether a receiver type accepts a value of a type.
func fits(on, receiver string) bool { return on == receiver || on == "any" || receiver == "any" }

// documented is the documentation of a function in the reference, and the type that it is called on there.
func documented(name string) (doc, on string) {
	doc, _ = docs.Function(name)
	on, _, isMember := strings.Cut(strings.TrimPrefix(doc, "`"), "."+name+"(")
	if !isMember || strings.ContainsAny(on, "(`") {
		return doc, ""
	}
	return doc, on
}
