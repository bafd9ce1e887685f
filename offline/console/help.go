package console

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
	if about := meaning(name); about != "" {
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
		about := meaning(name)
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

// meaning explains a name of the language; empty for any other name.
func meaning(name string) string {
	switch name {
	case flow.RootParent:
		return "the parent"
	case flow.RootVariables:
		return "the variables of the rule"
	case flow.RootLookups:
		return "what the rule looks up"
	case flow.RootChildren:
		return "the children, as they are after they were applied"
	case flow.RootObserved:
		return "the children, as they were last seen"
	case flow.RootEach:
		return "the paired items of other children"
	case flow.RootSelf:
		return "the live object of the child"
	case flow.RootStatus:
		return "the status as it was rendered"
	case flow.RootNow:
		return "the time of the evaluation"
	case flow.RootFinalizing:
		return "whether the parent is being deleted"
	}
	return ""
}
