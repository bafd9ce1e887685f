package definitions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/rules/syntax"
)

const (
	// Manager is the field manager of definitions.
	Manager = "kanon-definitions"
	// AnnotationHash records the hash of the definition as written.
	AnnotationHash = "kanon.dev/definition"
	// AnnotationKeeper names Kanon's namespace and the rule that the definition is made from, with the rule's namespace
	// if it is another one: kanon-system/webapp, or kanon-system/team-a/webapp.
	AnnotationKeeper = "kanon.dev/keeper"
)

// Wanted is a definition that a rule wants in the cluster.
type Wanted struct {
	Definition *unstructured.Unstructured
	// Hash is the hash of the definition.
	Hash string
	// Keeper is the value of AnnotationKeeper; empty for a definition beside rules.
	Keeper string
	// Adopt allows Kanon to take over a definition that it did not make.
	Adopt bool
	// Confirmed are the tokens of changes that are allowed although objects lose something.
	Confirmed []string
}

// NameOf is the value of AnnotationKeeper for a rule.
func NameOf(installation, namespace, name string) string {
	if namespace == installation {
		return installation + "/" + name
	}
	return installation + "/" + namespace + "/" + name
}

// Plan is what to do about a definition.
type Plan struct {
	// Live is the definition in the cluster; nil if there is none.
	Live *unstructured.Unstructured
	// Body is what Manager has to apply; nil if there is nothing to do.
	Body *unstructured.Unstructured
	// Force is true if the apply takes fields from other managers.
	Force bool
	// Optional is true if the rule can run without the apply, because the definition does not differ in anything that
	// matters.
	Optional bool
	// Restores is true if somebody else changed what Kanon had written.
	Restores bool
	// Changes are those that the apply makes; nil for a new definition.
	Changes *Comparison
}

// Cluster reads from a cluster.
type Cluster interface {
	// Definition reads a definition. If there is none, apierrors.IsNotFound is true for the error.
	Definition(ctx context.Context, name string) (*unstructured.Unstructured, error)
	// Objects calls f with each object that the comparison needs.
	Objects(ctx context.Context, of *Comparison, f func(*unstructured.Unstructured) error) error
}

// Prepare decides what to do so that the cluster has a definition. The error is a *Withheld if somebody has to act.
func Prepare(ctx context.Context, cluster Cluster, w Wanted) (*Plan, error) {
	live, err := cluster.Definition(ctx, w.Definition.GetName())
	switch {
	case apierrors.IsNotFound(err):
		return &Plan{Body: w.body(nil)}, nil
	case apierrors.IsForbidden(err):
		return nil, &Withheld{Reason: ReasonForbidden, Summary: fmt.Sprintf("%s cannot be compared with the one of the cluster: %v", w.name(), err)}
	case err != nil:
		return nil, err
	}
	plan, err := decide(live, w)
	if err != nil || plan.Body == nil || !plan.Changes.NeedsObjects() {
		return plan, err
	}
	token, err := plan.Changes.Token()
	if err != nil {
		return nil, err
	}
	if slices.Contains(w.Confirmed, token) {
		return plan, nil
	}
	survey, err := plan.Changes.Survey()
	if err != nil {
		return nil, err
	}
	err = cluster.Objects(ctx, plan.Changes, func(object *unstructured.Unstructured) error { return survey.Add(ctx, object) })
	if err != nil {
		return nil, unread(w, plan.Changes, err)
	}
	if len(survey.Losses()) > 0 {
		return nil, held(w, survey, token)
	}
	return plan, nil
}

// decide makes the part of Prepare's decision that needs no objects.
func decide(live *unstructured.Unstructured, w Wanted) (*Plan, error) {
	if live.GetDeletionTimestamp() != nil {
		return nil, errors.New("it is being deleted; Kanon creates it again after that")
	}
	changes, err := Compare(live, w.Definition)
	if err != nil {
		return nil, err
	}
	if w.isBeside() {
		return decideBeside(live, w, changes)
	}
	plan := &Plan{Live: live, Changes: changes}
	ours, other := owner(live, w)
	switch {
	case !ours && !w.Adopt && changes.IsSame():
		return plan, nil
	case !ours && !w.Adopt:
		return nil, taken(w, other, changes)
	case ours && changes.IsSame() && live.GetAnnotations()[AnnotationHash] == w.Hash && live.GetAnnotations()[AnnotationKeeper] == w.Keeper:
		return plan, nil
	}
	if never := changes.Never(); never != nil {
		return nil, impossible(w, never)
	}
	plan.Body, plan.Force = w.body(live), true
	plan.Optional = changes.IsSame()
	plan.Restores = ours && !plan.Optional && live.GetAnnotations()[AnnotationHash] == w.Hash
	return plan, nil
}

// decideBeside decides for a definition beside rules. It is applied once, and again when its text changes. If what
// others applied has everything that the text has, it is not applied.
func decideBeside(live *unstructured.Unstructured, w Wanted, changes *Comparison) (*Plan, error) {
	plan := &Plan{Live: live, Changes: changes}
	switch hash := live.GetAnnotations()[AnnotationHash]; {
	case hash == w.Hash && hash != "", hash == "" && covers(live.Object["spec"], w.Definition.Object["spec"]):
		return plan, nil
	}
	if never := changes.Never(); never != nil {
		return nil, impossible(w, never)
	}
	plan.Body = w.body(live)
	return plan, nil
}

// covers reports whether live has everything that wanted has, apart from descriptions.
func covers(live, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		for key, value := range wanted {
			if _, isText := value.(string); key == "description" && isText {
				continue
			}
			ok = ok && covers(live[key], value)
		}
		return ok
	case []any:
		live, ok := live.([]any)
		return ok && slices.EqualFunc(live, wanted, covers)
	}
	return equality.Semantic.DeepEqual(live, wanted)
}

func (w Wanted) isBeside() bool { return w.Keeper == "" }

// owner reports whether this Kanon made a definition. Copies of an object have its annotations but not its field
// managers, so both must match. other is the value of AnnotationKeeper if another Kanon keeps the definition.
func owner(live *unstructured.Unstructured, w Wanted) (ours bool, other string) {
	managed := slices.ContainsFunc(live.GetManagedFields(), func(entry managedFields) bool { return entry.Manager == Manager })
	keeper, marked := live.GetAnnotations()[AnnotationKeeper]
	if !managed {
		return false, ""
	}
	if !marked { // it was beside a rule
		return live.GetAnnotations()[AnnotationHash] != "", ""
	}
	if installationOf(keeper) != installationOf(w.Keeper) {
		return false, keeper
	}
	return true, ""
}

// installationOf is Kanon's namespace in a value of AnnotationKeeper.
func installationOf(keeper string) string {
	namespace, _, _ := strings.Cut(keeper, "/")
	return namespace
}

// body is the definition with its annotations. live is the definition that it replaces; nil if there is none.
func (w Wanted) body(live *unstructured.Unstructured) *unstructured.Unstructured {
	body := w.Definition.DeepCopy()
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 2)
	}
	annotations[AnnotationHash] = w.Hash
	if !w.isBeside() {
		annotations[AnnotationKeeper] = w.Keeper
	}
	body.SetAnnotations(annotations)
	if live != nil { // replace exactly what was compared
		body.SetUID(live.GetUID())
		body.SetResourceVersion(live.GetResourceVersion())
	}
	return body
}

func (w Wanted) name() string {
	return fmt.Sprintf("CustomResourceDefinition %s", w.Definition.GetName())
}

type managedFields = metav1.ManagedFieldsEntry

// page is the number of objects in one request.
const page = 500

// Client reads from a cluster. It implements Cluster.
type Client struct {
	dynamic.Interface
	// Timeout limits each request; 0 means no limit.
	Timeout time.Duration
}

// GVR is the resource of definitions.
func GVR() schema.GroupVersionResource {
	return apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
}

func (c Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.Timeout)
}

// Definition implements Cluster.
func (c Client) Definition(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return c.Resource(GVR()).Get(ctx, name, metav1.GetOptions{})
}

// Objects implements Cluster. A kind that the API server does not serve has no readable objects.
func (c Client) Objects(ctx context.Context, of *Comparison, f func(*unstructured.Unstructured) error) error {
	for token := ""; ; {
		list, err := c.list(ctx, of.Objects, token)
		if apierrors.IsNotFound(err) && !of.IsServed() {
			return nil
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := f(&list.Items[i]); err != nil {
				return err
			}
		}
		if token = list.GetContinue(); token == "" {
			return nil
		}
	}
}

func (c Client) list(ctx context.Context, gvr schema.GroupVersionResource, token string) (*unstructured.UnstructuredList, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	return c.Resource(gvr).List(ctx, metav1.ListOptions{Limit: page, Continue: token})
}

// The reasons of refusals.
const (
	// ReasonTaken: somebody else made or keeps the definition.
	ReasonTaken = "DefinitionTaken"
	// ReasonHeld: objects would lose something by the change, or the API server does not allow it.
	ReasonHeld = "DefinitionHeld"
	// ReasonForbidden: Kanon lacks the rights.
	ReasonForbidden = "Forbidden"
	// ReasonRefused: the API server refuses the definition.
	ReasonRefused = "DefinitionRefused"
)

// maxLines bounds the changes or losses that a message lists.
const maxLines = 10

// Withheld is why a definition is not written until somebody acts.
type Withheld struct {
	// Reason is a reason in the sense of conditions.
	Reason string
	// Summary is what is refused and why, in one line. Items are the details.
	Summary string
	Items   []string
	// Advice lists ways to go on, one a line.
	Advice []string
	// Token confirms the change; empty if it cannot be confirmed.
	Token string
}

// Message is the refusal in several lines, the important ones first. It begins with the reason.
func (r *Withheld) Message() string {
	return strings.Join(append([]string{r.Reason + ": " + r.shown(":\n- ", "\n- ")}, r.Advice...), "\n")
}

// Line is the refusal in one line, without reason and advice.
func (r *Withheld) Line() string { return r.shown(": ", "; ") }

// shown is the summary with the first details.
func (r *Withheld) shown(before, between string) string {
	items := slices.Clone(r.Items[:min(len(r.Items), maxLines)])
	if more := len(r.Items) - maxLines; more > 0 {
		items = append(items, fmt.Sprintf("and %d more", more))
	}
	if len(items) == 0 {
		return r.Summary
	}
	return r.Summary + before + strings.Join(items, between)
}

// Hint is the advice in one line.
func (r *Withheld) Hint() string { return strings.Join(r.Advice, "; ") }

func (r *Withheld) Error() string { return r.Message() }

// taken refuses to take over a definition. keeper is the rule of another Kanon that keeps it, if any.
func taken(w Wanted, keeper string, changes *Comparison) *Withheld {
	who := "Kanon did not create it"
	if keeper != "" {
		who = fmt.Sprintf("rule %s of another Kanon keeps it", keeper)
	}
	return &Withheld{
		Reason:  ReasonTaken,
		Summary: fmt.Sprintf("%s stays as it is: it differs from spec.parent.schema, and %s", w.name(), who),
		Items:   stringsOf(changes.Changes),
		Advice:  []string{"to take it over, and change it so, write adopt: true in spec.parent.schema"},
	}
}

func impossible(w Wanted, never []Change) *Withheld {
	return &Withheld{
		Reason:  ReasonHeld,
		Summary: w.name() + " stays as it is, because the API server does not allow this change",
		Items:   stringsOf(never),
		Advice:  []string{fmt.Sprintf("undo the change of %s, or give the new kind another name", w.source())},
	}
}

func held(w Wanted, survey *Survey, token string) *Withheld {
	objects, damaged := survey.Counts()
	marked := "the rule"
	if w.isBeside() {
		marked = "the definition"
	}
	losses := survey.Losses()
	advice := []string{fmt.Sprintf("to go on, change these objects, or undo the change of %s", w.source())}
	for _, loss := range losses {
		if way := "instead, " + loss.Instead; loss.Instead != "" && !slices.Contains(advice, way) {
			advice = append(advice, way)
		}
	}
	return &Withheld{
		Reason:  ReasonHeld,
		Token:   token,
		Summary: fmt.Sprintf("%s stays as it is, because %d of %d objects would lose something", w.name(), damaged, objects),
		Items:   stringsOf(losses),
		Advice: append(advice,
			fmt.Sprintf("to lose that, annotate %s, or the ConfigMap that contains it, with %s: %q", marked, syntax.AnnotationConfirmDefinition, token)),
	}
}

func (w Wanted) source() string {
	if w.isBeside() {
		return "the document"
	}
	return "spec.parent.schema"
}

// unread is the error if it cannot be determined what objects would lose.
func unread(w Wanted, changes *Comparison, err error) error {
	err = fmt.Errorf("%s stays as it is, because it is not known what objects would lose: list %s: %w", w.name(), changes.Objects.GroupResource(), err)
	if apierrors.IsForbidden(err) {
		return &Withheld{Reason: ReasonForbidden, Summary: err.Error()}
	}
	return err
}

// WithheldBy converts the error of an apply to a *Withheld if somebody has to act.
func WithheldBy(w Wanted, create bool, err error) error {
	switch {
	case w.isBeside():
	case apierrors.IsForbidden(err):
		verb := "change"
		if create {
			verb = "create"
		}
		return &Withheld{
			Reason:  ReasonForbidden,
			Summary: fmt.Sprintf("Kanon may not %s %s; the rule runs as soon as the cluster has it", verb, w.name()),
			Items:   []string{err.Error()},
			Advice: []string{
				"an administrator can apply it: kanon crd RULE.yaml | kubectl apply -f -",
				"or give Kanon the right: kanon rbac --definitions",
			},
		}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &Withheld{Reason: ReasonRefused, Summary: fmt.Sprintf("the API server refuses %s", w.name()), Items: []string{err.Error()}}
	}
	return err
}

func stringsOf[T fmt.Stringer](items []T) []string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = item.String()
	}
	return lines
}
