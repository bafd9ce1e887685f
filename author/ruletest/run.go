package ruletest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// Options decide which cases run, and how.
type Options struct {
	// Rules are the options of the compiler. Kinds and Schemas are set by the package.
	Rules rules.Options
	// Run selects cases: it is matched against "FILE: NAME". nil: all.
	Run *regexp.Regexp
	// Update rewrites the expected outputs in the files instead of comparing them.
	Update bool
}

// FileResult is the result of a file.
type FileResult struct {
	Path string
	// Err says why no case could run.
	Err error
	// Findings are errors in the file, or in the rule that it tests.
	Findings diagnostic.Findings
	Cases    []CaseResult
	// Updated counts the rewritten outputs.
	Updated  int
	Duration time.Duration
}

// Failed reports whether the file, the rule or a case failed.
func (r *FileResult) Failed() bool {
	return r.Err != nil || r.Findings.HasErrors() || slices.ContainsFunc(r.Cases, CaseResult.Failed)
}

// CaseResult is the result of a case.
type CaseResult struct {
	Name     string
	Failures []Failure
	Duration time.Duration
}

// Failed reports whether an expectation of the case was not met.
func (r CaseResult) Failed() bool { return len(r.Failures) > 0 }

// Failure is an expectation that was not met.
type Failure struct {
	// At is the position of the expectation in the test file.
	At diagnostic.Position
	// Step is the name of the step; empty for the first.
	Step    string
	Message string
	// Diff is a unified diff, or empty.
	Diff string
}

// Run runs the cases of a file. The parts of the rule that they exercise are added to coverage, which may be nil.
func Run(ctx context.Context, path string, o Options, coverage *Coverage) *FileResult {
	begin := time.Now()
	result := &FileResult{Path: path}
	defer func() { result.Duration = time.Since(begin) }()
	data, err := os.ReadFile(path)
	if err != nil {
		result.Err = manifests.Reason(err)
		return result
	}
	f, findings := Decode(path, data)
	if result.Findings = findings; f == nil {
		return result
	}
	if coverage != nil {
		o.Rules.Branches, o.Rules.Conditions = coverage.ofBranch, coverage.ofCondition
	}
	s, err := load(ctx, f, o.Rules)
	if err != nil {
		result.Err = err
		return result
	}
	if f.Findings != nil {
		result.Cases = append(result.Cases, compareFindings(f.Findings, s.findings))
	} else if s.findings.HasErrors() {
		result.Findings = s.findings
	}
	if s.program == nil {
		return result
	}
	var outputs []rewrite
	for i := range f.Cases {
		c := &f.Cases[i]
		if o.Run != nil && !o.Run.MatchString(path+": "+c.Name) {
			continue
		}
		r := &runner{subject: s, ctx: ctx, c: c, update: o.Update, coverage: coverage.of(s.program), secrets: redact.Values{}}
		result.Cases = append(result.Cases, r.run(ctx))
		outputs = append(outputs, r.outputs...)
	}
	if o.Update && len(outputs) > 0 {
		if result.Err = f.rewrite(outputs); result.Err == nil {
			result.Updated = len(outputs)
		}
	}
	return result
}

// compareFindings is the case that compares the findings of the rule with the expected codes.
func compareFindings(want *expected[[]string], findings diagnostic.Findings) CaseResult {
	var got []string
	for _, f := range findings {
		got = append(got, string(f.Code))
	}
	slices.Sort(got)
	got = slices.Compact(got)
	wanted := slices.Compact(slices.Sorted(slices.Values(want.want)))
	result := CaseResult{Name: "findings"}
	if !slices.Equal(got, wanted) {
		var texts strings.Builder
		for _, f := range findings {
			texts.WriteString("\n" + f.String())
		}
		result.Failures = []Failure{{At: want.at, Message: fmt.Sprintf("the rule has the findings %s, want %s%s", listed(got), listed(wanted), &texts)}}
	}
	return result
}

func listed(words []string) string {
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// runner runs one case.
type runner struct {
	*subject
	ctx      context.Context //nolint:containedctx // it does not outlive run
	c        *Case
	update   bool
	coverage *ruleCoverage

	cluster *memory.Cluster
	parents parents
	// seen and emitted count the writes and Events that earlier states have.
	seen, emitted int
	secrets       redact.Values
	step          *Step
	// states are the states after the step, of each parent.
	states []*state
	// state is the state that is compared, and before that after the previous step; nil in the first step.
	state, before *state
	// about is the parent that is compared, as messages begin; empty if there is only one.
	about    string
	failures []Failure
	outputs  []rewrite
}

func (r *runner) run(ctx context.Context) CaseResult {
	begin := time.Now()
	if r.begin(ctx) {
		for i := range r.c.Steps {
			if r.step = &r.c.Steps[i]; !r.take(ctx) {
				break
			}
		}
	}
	r.hideSecrets()
	slices.SortStableFunc(r.failures, func(a, b Failure) int { return cmp.Compare(a.At.Line, b.At.Line) })
	return CaseResult{Name: r.c.Name, Failures: r.failures, Duration: time.Since(begin)}
}

// begin makes the cluster of the case. It reports whether the steps can run.
func (r *runner) begin(ctx context.Context) bool {
	r.step = &r.c.Steps[0]
	all, ok := r.newParents()
	if !ok {
		return false
	}
	others, err := r.readAll(r.c.Cluster)
	if err != nil {
		return r.fail(r.c.at, "%s", err)
	}
	all = append(append(all, r.others...), others...)
	r.kinds.InDefaultNamespace([]*program.Program{r.program}, all)
	r.note(all...)
	options := memory.Options{Kinds: r.known, Program: r.program, Parent: all[0], Objects: all[1:], Now: r.c.Now}
	r.cluster, err = memory.New(ctx, options)
	switch {
	case err == nil:
		return true
	case !r.compareRefusal(r.c.at, err):
		return false
	case len(r.c.Steps) > 1:
		return r.fail(r.c.Steps[1].at, "the API server has refused the parent, or an object of cluster, so nothing can follow: write another case")
	}
	for range r.parents {
		r.states = append(r.states, &state{Now: r.c.Now})
	}
	r.compareAll(ctx, nil)
	return false
}

// compareRefusal compares the refusal of a change, or nil, with what the step expects. It reports false for an error
// that is not an expected refusal.
func (r *runner) compareRefusal(at diagnostic.Position, err error) bool {
	want := r.step.Expect.Refused
	_, refused := errors.AsType[*definitions.Refusal](err)
	switch {
	case err != nil && (want == nil || !refused):
		return r.fail(at, "%s", err)
	case want != nil && err == nil:
		r.fail(want.at, "want that the API server refuses a change, and it takes all")
	case want != nil:
		for _, part := range want.want {
			if !strings.Contains(err.Error(), part) {
				r.fail(want.at, "want a refusal with %q, and %s", part, err)
			}
		}
	}
	return true
}

func (r *runner) fail(at diagnostic.Position, format string, args ...any) bool {
	r.failures = append(r.failures, Failure{At: at, Step: r.step.Name, Message: r.about + fmt.Sprintf(format, args...)})
	return false
}

// take runs one step. It reports whether the next one can run.
func (r *runner) take(ctx context.Context) bool {
	refused, err := r.change(ctx)
	if err != nil {
		return r.fail(r.step.at, "%s", err)
	}
	if !r.compareRefusal(r.step.at, refused) {
		return false
	}
	if err := r.cluster.Settle(ctx); err != nil {
		return r.fail(r.step.at, "%s", err)
	}
	before := r.states
	r.states = r.newStates(ctx)
	r.compareAll(ctx, before)
	return true
}

// change makes the changes of the step. refused is a refusal of the API server; err is any other error.
func (r *runner) change(ctx context.Context) (refused, err error) {
	objects, err := r.readAll(r.step.Set)
	if err != nil {
		return nil, err
	}
	if r.step != &r.c.Steps[0] && r.step.Parent != nil {
		refused = r.cluster.SetParent(ctx, r.step.Parent)
	}
	r.kinds.InDefaultNamespace([]*program.Program{r.program}, objects)
	r.note(objects...)
	for _, object := range objects {
		refused = errors.Join(refused, r.cluster.Set(ctx, object))
	}
	if refused != nil && r.step.Expect.Refused == nil {
		return refused, nil // the step fails
	}
	return refused, r.act(ctx)
}

// act applies ready, failed and delete, and then lets time pass.
func (r *runner) act(ctx context.Context) error {
	if r.step == &r.c.Steps[0] && (r.step.Ready != nil || r.step.Failed != nil || r.step.Delete != nil) {
		if err := r.cluster.Settle(ctx); err != nil { // before that, no objects exist
			return err
		}
	}
	for _, each := range []struct {
		words []string
		do    func(context.Context, *unstructured.Unstructured) error
	}{{r.step.Ready, r.setReady}, {r.step.Failed, r.setFailed}, {r.step.Delete, func(_ context.Context, o *unstructured.Unstructured) error { return r.cluster.Delete(o) }}} {
		for _, word := range each.words {
			objects, err := r.find(word)
			for _, object := range objects {
				err = errors.Join(err, each.do(ctx, object))
			}
			if err != nil {
				return err
			}
		}
	}
	return r.cluster.Advance(ctx, r.step.After)
}
