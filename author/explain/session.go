package explain

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// SessionOptions configure a Session.
type SessionOptions struct {
	// Rule is the rule whose names expressions can use.
	Rule    *syntax.Rule
	Compile rules.Options
	// Evaluate evaluates the program of the rule for the parent.
	Evaluate func(*program.Program) (*preview.Preview, error)
	// Child is the child in whose scope expressions are evaluated, and Item its item of forEach, from 0. Without a
	// child, the scope is that of the rule.
	Child string
	Item  int
	// NoParent is true if the parent is a placeholder that must not be read.
	NoParent bool
}

// Session evaluates expressions.
type Session struct {
	SessionOptions
	compiler *rules.AdHocCompiler
	ev       *program.Evaluation
	scope    program.Scope
	tracer   *Tracer
	// secrets are the values to hide.
	secrets redact.Values
	// about names the parent.
	about string
}

// FindingsError contains the errors in the rule.
type FindingsError struct{ Findings diagnostic.Findings }

func (e *FindingsError) Error() string { return e.Findings.Err().Error() }

// NewSession compiles and evaluates the rule. The error is a *FindingsError, the error of Evaluate, or says why the scope does
// not exist.
func NewSession(o SessionOptions) (*Session, error) {
	compiler, findings := rules.NewAdHocCompiler(o.Rule, o.Compile)
	if compiler == nil {
		return nil, &FindingsError{findings}
	}
	made, err := o.Evaluate(compiler.Program)
	switch {
	case err != nil:
		return nil, err
	case made.Evaluation == nil:
		return nil, fmt.Errorf("the rule is not for %s %s: %s", made.Parent.GetKind(), made.Parent.GetName(), made.Unmatched)
	}
	s := &Session{SessionOptions: o, compiler: compiler, ev: made.Evaluation, about: "The parent is " + made.Parent.GetKind() + " " + made.Parent.GetName()}
	s.tracer = NewTracer(o.Rule, compiler.Program, s.ev)
	s.secrets = made.Secrets
	if o.Child == "" {
		s.scope = s.ev.StatusScope(made.Result.Status)
		return s, nil
	}
	if _, ok := compiler.Program.ByID[o.Child]; !ok {
		hint := diagnostic.DidYouMean(o.Child, sortedNames(compiler.Program.ByID))
		return nil, errors.New(strings.TrimSuffix(fmt.Sprintf("the rule has no child called %q; %s", o.Child, hint), "; "))
	}
	var p *program.Problem
	if s.scope, p = s.ev.NodeScope(o.Child, o.Item); p != nil {
		return nil, fmt.Errorf("child %s: %s", o.Child, p.Error())
	}
	return s, nil
}

// Result is the result of an expression.
type Result struct {
	// Value is the value as JSON. It is nil for null, and if there is no value or it is hidden.
	Value any `json:"value"`
	// Type is the type of the value. Without a value, it is the type from the compiler.
	Type string `json:"type"`
	// Cost is in CEL's units, without the cost of variables, which are evaluated only once.
	Cost uint64 `json:"cost"`
	// Absent is true for optional.none().
	Absent bool `json:"absent,omitempty"`
	// Hidden is true if the value comes from a Secret.
	Hidden bool `json:"hidden,omitempty"`
	// Waits or Fails says why there is no value, and Hint what to do about it.
	Waits string `json:"waits,omitempty"`
	Fails string `json:"fails,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

// severityWaits is the severity of a finding about a value that is missing for now.
const severityWaits diagnostic.Severity = "waits"

// name is the file name of expressions in findings.
const name = "expression"

// Eval evaluates an expression, or a template with ${…}. If it does not compile, there is no result. If it has no
// value, the result comes with a finding that says why.
func (s *Session) Eval(text string) (*Result, diagnostic.Findings) {
	text = strings.TrimSpace(text)
	if finding := s.refused(text); finding != nil {
		return nil, diagnostic.Findings{*finding}
	}
	source, node, isExpression, findings := parse(text)
	if node == nil {
		return nil, findings
	}
	asked, findings := s.compiler.Compile(source, node, isExpression, s.Child)
	if asked == nil {
		return nil, findings
	}
	findings = nil // warnings are for authors of rules
	result := s.evaluate(asked)
	if result.Hidden = s.tracer.ReadsSecrets(asked.Template, s.scope, s.Child); result.Hidden {
		result.Value = nil
		if result.Fails != "" {
			result.Fails, result.Hint = "it fails; why is not shown, because it reads a Secret", ""
		}
	}
	result.Value = s.secrets.JSON(result.Value) // for example, the rule may copy a Secret into a ConfigMap
	result.Waits, result.Fails = s.secrets.Text(result.Waits), s.secrets.Text(result.Fails)
	if problem := cmp.Or(result.Waits, result.Fails); problem != "" {
		f := at(text, problem)
		if f.Hint = result.Hint; result.Waits != "" {
			f.Severity = severityWaits
		}
		findings = append(findings, *f)
	}
	return result, findings
}

// refused reports a name that cannot be read because there is no parent; nil if the text reads none.
func (s *Session) refused(text string) *diagnostic.Finding {
	if !s.NoParent {
		return nil
	}
	env, err := celenv.Shared()
	if err != nil {
		return nil
	}
	for _, part := range expressions(text) {
		parsed, _ := env.Parse(part.Text)
		if parsed == nil {
			continue
		}
		roots, _ := parsed.Names()
		for _, root := range roots {
			if slices.Contains([]string{flow.RootParent, flow.RootFinalizing}, root.Name) {
				f := at(text, root.Name+" is not given")
				f.Hint = "name a parent with --parent"
				return f
			}
		}
	}
	return nil
}

// expressions lists the expressions in a text: the text itself, or those in ${…}.
func expressions(text string) []yamltree.Part {
	if !yamltree.HasExpression(text) {
		return []yamltree.Part{{Expr: true, Text: text}}
	}
	parts, err := yamltree.Scan(text)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(parts, func(p yamltree.Part) bool { return !p.Expr })
}

// parse makes a node of the input: text, or a mapping or list that contains expressions.
func parse(text string) (source *yamltree.Source, n *yamltree.Node, isExpression bool, findings diagnostic.Findings) {
	source, n = yamltree.NewText(name, text)
	if !yamltree.HasExpression(text) {
		return source, n, true, nil
	}
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "- ") && !strings.Contains(text, "\n") {
		return source, n, false, nil
	}
	source = yamltree.New(name, []byte(text))
	var found diagnostic.List
	for _, document := range source.Documents() {
		nodes, finding := source.Parse(document)
		if finding != nil {
			found = append(found, finding)
		}
		for _, node := range nodes {
			if built := source.Build(node, &found); built != nil && len(found) == 0 {
				return source, built, false, nil
			}
		}
	}
	return nil, nil, false, found.Findings(source)
}

// evaluate renders a compiled input. It does so twice, so that the cost does not include variables, which the first run
// evaluates.
func (s *Session) evaluate(asked *rules.AdHocTemplate) *Result {
	var val ref.Val
	var p *program.Problem
	var cost uint64
	for range 2 {
		s.ev.Revisit()
		budget := &s.scope.Session().Budget
		before := budget.Cost
		val, p = render(asked.Template, s.scope)
		cost = before - budget.Cost
	}
	out := &Result{Cost: cost, Type: strings.TrimPrefix(strings.TrimPrefix(asked.Type, "an "), "a ")} // in the form of typeName
	switch {
	case p != nil && p.Verdict == program.Fails:
		out.Fails, out.Hint = p.Message, p.Advice
	case p != nil:
		out.Waits, out.Hint = p.Message, p.Advice
	case val == nil:
		out.Absent = true
	default:
		out.take(val)
	}
	return out
}

// render is the value of a template; nil if it has none.
func render(t program.Template, s program.Scope) (ref.Val, *program.Problem) {
	if x, ok := t.(program.Expr); ok {
		return x.X.Eval(s)
	}
	val, ok, p := t.Render(s)
	if p != nil || !ok {
		return nil, p
	}
	return celenv.FromJSON(val), nil
}

// take sets the value and its type.
func (r *Result) take(val ref.Val) {
	r.Type = typeName(val)
	if optional, ok := val.(*types.Optional); ok {
		if !optional.HasValue() {
			r.Absent = true
			return
		}
		val = optional.GetValue()
		r.Type = "optional " + typeName(val)
	}
	if t, isType := val.(*types.Type); isType {
		r.Value = celenv.ShortType(t)
		return
	}
	plain, err := celenv.ToJSON(val)
	if err != nil && !errors.Is(err, celenv.ErrNoValue) {
		r.Fails = err.Error()
		return
	}
	r.Value = plain
}

func typeName(val ref.Val) string {
	return celenv.ShortType(val.Type().(*types.Type)) //nolint:forcetypeassert // CEL's own types and Kanon's are of one kind.
}

// at is a finding about the path that a message starts with, or else about the whole text.
func at(text, message string) *diagnostic.Finding {
	f := &diagnostic.Finding{Severity: diagnostic.SeverityError, Message: message, Text: text}
	f.File, f.Line, f.Column, f.Length = name, 1, 1, len([]rune(text))
	path := strings.TrimRight(strings.Fields(message)[0], ":")
	if before, _, isPart := strings.Cut(text, path); isPart && (strings.Contains(path, ".") || before == "" && path == flow.RootParent) {
		f.Column, f.Length = 1+len([]rune(before)), len([]rune(path))
	}
	if strings.Contains(text, "\n") {
		f.Line, f.Column, f.Text = 0, 0, ""
	}
	return f
}

// Write writes the value as YAML, or with format json or yaml the whole result.
func (r *Result) Write(w io.Writer, format string) error {
	switch {
	case format != "":
		return WriteAs(w, format, r)
	case r.Absent || r.Waits != "" || r.Fails != "":
		return nil
	case r.Hidden:
		return WriteAs(w, "yaml", hiddenText)
	}
	return WriteAs(w, "yaml", r.Value)
}

// About describes the value in one line.
func (r *Result) About() string {
	what := r.Type
	switch {
	case r.Hidden:
		what += ", which comes from a Secret"
	case r.Absent:
		what = "no value: in a template, the field would be left out"
	case r.Waits != "":
		what += ", which waits"
	case r.Fails != "":
		what += ", which fails"
	}
	return fmt.Sprintf("# %s; cost %d", what, r.Cost)
}
