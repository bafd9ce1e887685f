package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// Rules are the rules of a cluster at one moment.
type Rules struct {
	// All are sorted by namespace and name.
	All []*Rule
	// Problems are those of ConfigMaps and Rule objects that no rule has.
	Problems []Problem
	// Namespace is Kanon's.
	Namespace string

	// unread has the namespaces of tenants whose rules the user may not read.
	unread sets.Set[string]
}

// Problem is why rules may be missing: Kanon, or this package, could not read an origin.
type Problem struct {
	// Where names the origin, such as configmap/kanon-system/webapp.
	Where, Message string
}

// Rule is one rule of a cluster.
type Rule struct {
	Name types.NamespacedName
	// ID identifies the rule in marks.
	ID     string
	Origin source.Origin
	// Confined is true for a tenant's rule, which is confined to its namespace.
	Confined bool
	// Object is the ConfigMap or the Rule object; nil for a rule in a file.
	Object *unstructured.Unstructured
	// Text is the document of the rule; empty for a rule in a file.
	Text source.Text
	// Decoded is the rule in its text. It is nil for a rule in a file, and partial if something in the text cannot be
	// read.
	Decoded *syntax.Rule
	// Created is when the origin was created; for a rule in a file, when Kanon first ran it.
	Created time.Time
	// Record is the rule's record; nil if the rule never ran.
	Record *record.Record
	// State, Reason and Message are explained in state.go.
	State           State
	Reason, Message string
	// PruneHeld is what the prune guard blocks; nil if it does not block anything.
	PruneHeld *PruneBlock
	// ParentCount and ChildCount are Kanon's counts, or negative if Kanon reported none.
	ParentCount, ChildCount int

	// compiled is set by Compiler.Compile.
	compiled *compiled
}

// ListRules reads the rules of a cluster. namespace is Kanon's. From other namespaces, it reads the origins of recorded
// rules.
func ListRules(ctx context.Context, client dynamic.Interface, namespace string) (*Rules, error) {
	configMaps, err1 := source.ListConfigMaps(ctx, client, namespace)
	objects, err2 := source.ListRuleObjects(ctx, client, namespace)
	records, err3 := record.List(ctx, client, namespace)
	r := &Rules{Namespace: namespace, unread: make(sets.Set[string])}
	if err1 == nil && apierrors.IsForbidden(err2) {
		// Without the right, the answer is Forbidden even if the kind does not exist.
		r.Problems, err2 = append(r.Problems, Problem{Where: "Rule objects", Message: "they cannot be listed: " + reasonOf(err2)}), nil
	}
	if err := cmp.Or(err1, err2, err3); err != nil { // the errors mostly have the same cause
		return nil, err
	}
	tenants, err := r.listTenants(ctx, client, records)
	if err != nil {
		return nil, err
	}
	r.build(slices.Concat(configMaps, objects, tenants), records)
	return r, nil
}

// reasonOf is the message of the API server's answer.
func reasonOf(err error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return status.Status().Message
	}
	return err.Error()
}

// build combines origins and records.
func (r *Rules) build(origins []source.Listed, records []record.Listed) {
	recorded := make(map[string]*record.Listed, len(records))
	for i := range records {
		recorded[records[i].ID] = &records[i]
	}
	byName := make(map[types.NamespacedName]*Rule)
	for _, claim := range r.claims(origins, recorded) {
		if byName[claim.Name] == nil { // otherwise Kanon reports on the origin that the name is taken
			byName[claim.Name] = claim
			r.All = append(r.All, claim)
		}
	}
	for _, rule := range r.All {
		delete(recorded, rule.ID)
	}
	for id, stored := range recorded {
		r.All = append(r.All, r.ofRecord(id, stored))
	}
	slices.SortFunc(r.All, func(a, b *Rule) int {
		return cmp.Or(cmp.Compare(a.Name.Namespace, b.Name.Namespace), cmp.Compare(a.Name.Name, b.Name.Name))
	})
	r.addProblems(origins)
}

// claims returns the rules in the texts of origins. If several have one name, the first is the one that Kanon runs:
// that in the origin which the record names, or else the oldest.
func (r *Rules) claims(origins []source.Listed, recorded map[string]*record.Listed) []*Rule {
	var claims []*Rule
	for i := range origins {
		origin := &origins[i]
		for _, text := range origin.Texts {
			docs, _ := decode(text)
			for _, decoded := range slices.Concat(docs.Rules, docs.Partial) {
				if decoded.Name == "" {
					continue
				}
				rule := r.ofText(origin, text, decoded)
				if stored := recorded[rule.ID]; stored != nil {
					rule.Record = &stored.Record
				}
				rule.judge(origin.Report)
				claims = append(claims, rule)
			}
		}
	}
	slices.SortStableFunc(claims, func(a, b *Rule) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Text.Name, b.Text.Name))
	})
	isOther := func(rule *Rule) bool { return !rule.isRecorded() }
	return append(slices.DeleteFunc(slices.Clone(claims), isOther), slices.DeleteFunc(claims, (*Rule).isRecorded)...)
}

// decode decodes the text of an origin.
func decode(text source.Text) (syntax.Documents, diagnostic.Findings) {
	if text.Object {
		return syntax.DecodeObject(text.Name, text.Data)
	}
	return syntax.Decode(text.Name, text.Data)
}

// isRecorded reports whether the rule's record names its origin.
func (rule *Rule) isRecorded() bool {
	at := record.OriginOf(rule.Origin)
	if rule.Record == nil {
		return false
	}
	stored := rule.Record.Origin
	stored.Definition = at.Definition
	return stored == at
}

// addProblems adds Kanon's reports on origins that no rule has.
func (r *Rules) addProblems(origins []source.Listed) {
	for i := range origins {
		report, of := origins[i].Report, origins[i].Origin
		if report == nil || report.Ready ||
			slices.ContainsFunc(r.All, func(rule *Rule) bool { return rule.Origin == of && rule.State.Ready() == "False" }) {
			continue
		}
		r.Problems = append(r.Problems, Problem{Where: of.String(), Message: report.Message})
	}
	slices.SortFunc(r.Problems, func(a, b Problem) int { return cmp.Compare(a.Where, b.Where) })
}

// ofText makes a rule from the text of an origin.
func (r *Rules) ofText(origin *source.Listed, text source.Text, decoded *syntax.Rule) *Rule {
	name := types.NamespacedName{Namespace: cmp.Or(decoded.Namespace, r.Namespace), Name: decoded.Name}
	confined := isTenant(origin.Origin.Namespace(), r.Namespace)
	if confined {
		name.Namespace = origin.Origin.Namespace()
		if len(decoded.Parent.Namespaces) == 0 {
			decoded.Parent.Namespaces = []string{name.Namespace} // as in the compiler
		}
	}
	rule := &Rule{
		Name: name, ID: mark.RuleID(r.Namespace, name.Namespace, name.Name), Origin: origin.Origin, Object: origin.Object, Confined: confined,
		Text: text, Decoded: decoded, Created: origin.Created, ParentCount: -1, ChildCount: -1,
	}
	if report := origin.Report; report != nil && text.Object {
		rule.ParentCount, rule.ChildCount = report.Parents, report.Children
	}
	return rule
}

// ofRecord makes a rule from a record without a text: the rule is in a file, or is being removed.
func (r *Rules) ofRecord(id string, stored *record.Listed) *Rule {
	rule := &Rule{Confined: stored.Confined, ID: id, Origin: stored.Origin.Source(), Created: stored.Created, Record: &stored.Record, ParentCount: -1, ChildCount: -1}
	if namespace, name, ok := strings.Cut(stored.Rule, "/"); ok {
		rule.Name = types.NamespacedName{Namespace: namespace, Name: name}
	}
	if rule.judgeRecord(); r.unread.Has(rule.Origin.Namespace()) && stored.Removal == "" {
		rule.State, rule.Message = Unknown, "its text is in namespace "+rule.Origin.Namespace()+", where you may not read rules"
	}
	return rule
}

// ParentKind is the kind of the rule's parents; zero if it is not known.
func (rule *Rule) ParentKind() schema.GroupVersionKind {
	switch {
	case rule.Decoded != nil:
		return rule.Decoded.Parent.GVK
	case rule.Record != nil && len(rule.Record.Parents) > 0:
		return rule.Record.Parents[len(rule.Record.Parents)-1].GVK()
	default:
		return schema.GroupVersionKind{}
	}
}

// MayHaveSecrets reports whether the rule may read or write Secrets. That is true if the cluster has no text of it.
func (rule *Rule) MayHaveSecrets() bool { return rule.Decoded == nil || rule.Decoded.HasSecrets() }

// IsInFile reports whether the rule is in a file, which only the running Kanon reads.
func (rule *Rule) IsInFile() bool {
	return rule.Object == nil && rule.Origin.Path != "" && (rule.Record == nil || rule.Record.Removal == "")
}

// Labels are the labels of the Rule object, or of the document.
func (rule *Rule) Labels() map[string]string {
	switch {
	case rule.Origin.Rule.Name != "":
		return rule.Object.GetLabels()
	case rule.Decoded != nil:
		return rule.Decoded.Labels
	default:
		return nil
	}
}

// Source names the origin in short: configmap/NAME, rule/NAME or the path of a file.
func (rule *Rule) Source() string {
	switch o := rule.Origin; {
	case o.Path != "":
		return o.Path
	case o.Rule.Name != "":
		return "rule/" + o.Rule.Name
	default:
		return "configmap/" + o.ConfigMap.Name
	}
}

// isTenant reports whether the namespace of a text is a tenant's. own is Kanon's. A file has no namespace.
func isTenant(namespace, own string) bool { return namespace != "" && namespace != own }

// listTenants lists the origins in tenants' namespaces for which Kanon has records. It leaves out those that the user
// may not list, and adds a Problem for them.
func (r *Rules) listTenants(ctx context.Context, client dynamic.Interface, records []record.Listed) ([]source.Listed, error) {
	namespaces := make(sets.Set[string])
	for i := range records {
		if namespace := records[i].Origin.Namespace; records[i].Confined && isTenant(namespace, r.Namespace) {
			namespaces.Insert(namespace)
		}
	}
	if len(namespaces) == 0 {
		return nil, nil
	}
	all, err := listOrigins(ctx, client, metav1.NamespaceAll)
	if err == nil {
		return slices.DeleteFunc(all, func(origin source.Listed) bool { return !namespaces.Has(origin.Origin.Namespace()) }), nil
	}
	if !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, namespace := range sets.List(namespaces) {
		found, err := listOrigins(ctx, client, namespace)
		if apierrors.IsForbidden(err) {
			r.unread.Insert(namespace)
			r.Problems = append(r.Problems, Problem{Where: "rules in namespace " + namespace, Message: "they cannot be listed: " + reasonOf(err)})
		} else if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// listOrigins lists the ConfigMaps with rules and the Rule objects of a namespace. It fails if either cannot be listed.
func listOrigins(ctx context.Context, client dynamic.Interface, namespace string) ([]source.Listed, error) {
	configMaps, err1 := source.ListConfigMaps(ctx, client, namespace)
	objects, err2 := source.ListRuleObjects(ctx, client, namespace)
	if err := cmp.Or(err1, err2); err != nil { // the errors mostly have the same cause
		return nil, err
	}
	return append(configMaps, objects...), nil
}
