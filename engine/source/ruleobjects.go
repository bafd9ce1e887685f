package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"
)

// RuleObjects reads the Rule objects of one namespace, or of all. Their CustomResourceDefinition may be installed or
// removed at any time.
type RuleObjects struct {
	client     dynamic.Interface
	namespace  string
	definition cache.SharedIndexInformer

	mu sync.Mutex
	// rules is the informer of the objects, nil while the kind is not served. last is the snapshot published last.
	// Guarded by mu.
	rules *ruleInformer
	last  Snapshot
}

// ruleInformer watches Rule objects as long as their current definition exists.
type ruleInformer struct {
	uid      types.UID
	informer cache.SharedIndexInformer
	synced   cache.InformerSynced
	stop     func()
}

// NewRuleObjects returns the source of the Rule objects in a namespace, or in all namespaces if that is empty.
func NewRuleObjects(client dynamic.Interface, namespace string) *RuleObjects {
	definition := dynamicinformer.NewFilteredDynamicInformer(client, definitionGVR(), metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.FieldSelector = onlyDefinition() })
	return &RuleObjects{client: client, namespace: namespace, definition: definition.Informer()}
}

// RulesGVR is the resource of Rule objects.
func RulesGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kanon.dev", Version: "v1alpha1", Resource: "rules"}
}

func definitionGVR() schema.GroupVersionResource {
	return apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
}

// onlyDefinition is the field selector for the definition of Rule objects.
func onlyDefinition() string {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, RulesGVR().GroupResource().String()).String()
}

// Run publishes a snapshot of the Rule objects once it is known whether there can be any, and after each change,
// until ctx ends. Call it once.
func (r *RuleObjects) Run(ctx context.Context, publish func(Snapshot)) error {
	changed := make(signal, 1)
	registration, _ := r.definition.AddEventHandler(changed.handler()) // fails only once an informer has stopped
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { r.definition.RunWithContext(ctx) })
	defer r.unwatch()
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil // ctx ended first
	}
	changed.send()
	for published := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			next, known := r.snapshot(ctx, changed)
			if known && (!published || !next.equal(r.last)) {
				published = true
				r.mu.Lock()
				r.last = next
				r.mu.Unlock()
				publish(next)
			}
		}
	}
}

// snapshot returns the next snapshot to publish. If the definition goes, all objects go, which must not count as the
// removal of all rules: what was known stays, as an incomplete snapshot. known is false while the informer fills.
func (r *RuleObjects) snapshot(ctx context.Context, changed signal) (next Snapshot, known bool) {
	uid := r.served()
	if uid == "" {
		r.unwatch()
		next = r.last
		next.Complete = len(next.Bundles) == 0
		return next, true
	}
	if r.rules == nil || r.rules.uid != uid {
		r.unwatch()
		if r.last.has(func(o Origin) bool { return o.Definition != uid }) {
			logr.FromContextOrDiscard(ctx).Info("The definition of Rule objects was recreated. Rules whose objects were deleted with the " +
				"old one keep running unchanged; recreate the objects, also to remove a rule")
		}
		r.watch(ctx, uid, changed)
	}
	if !r.rules.synced() {
		return Snapshot{}, false // its first event, or the end of its list, sends the signal again
	}
	next = r.withOrphans(r.read())
	if !r.loses(next) {
		return next, true
	}
	// The definition is deleted before its objects are, but its event comes by another watch and may be late.
	stays, err := r.stays(ctx, uid)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "A Rule object is gone, and it is not known whether its kind goes, too; trying again")
		time.AfterFunc(definitionRetry, changed.send)
	}
	if stays {
		return next, true
	}
	next = r.last
	next.Complete = false
	return next, true
}

// definitionRetry is the pause before the definition is read again.
const definitionRetry = 2 * time.Second

// withOrphans adds the objects that went with an earlier definition and were not created again: nobody removed them.
func (r *RuleObjects) withOrphans(s Snapshot) Snapshot {
	for _, bundle := range r.last.Bundles {
		if bundle.Origin.Definition != r.rules.uid && !s.has(func(o Origin) bool { return o.Rule == bundle.Origin.Rule }) {
			s.Bundles = append(s.Bundles, bundle)
		}
	}
	slices.SortFunc(s.Bundles, func(a, b Bundle) int { return cmp.Compare(a.Origin.Rule.String(), b.Origin.Rule.String()) })
	return s
}

// loses reports whether an object is gone that existed under the current definition.
func (r *RuleObjects) loses(next Snapshot) bool {
	return slices.ContainsFunc(r.last.Bundles, func(bundle Bundle) bool {
		return bundle.Origin.Definition == r.rules.uid && !next.has(func(o Origin) bool { return o.UID == bundle.Origin.UID })
	})
}

func (s Snapshot) has(is func(Origin) bool) bool {
	return slices.ContainsFunc(s.Bundles, func(bundle Bundle) bool { return is(bundle.Origin) })
}

// stays asks the API server whether the definition with this UID exists and is not being deleted.
func (r *RuleObjects) stays(ctx context.Context, uid types.UID) (bool, error) {
	found, err := r.client.Resource(definitionGVR()).List(ctx, metav1.ListOptions{FieldSelector: onlyDefinition()})
	if err != nil {
		return false, fmt.Errorf("read the definition of Rule objects: %w", err)
	}
	return slices.ContainsFunc(found.Items, func(definition unstructured.Unstructured) bool {
		return definition.GetUID() == uid && definition.GetDeletionTimestamp() == nil
	}), nil
}

// served returns the UID of the established definition of Rule objects; empty if there is none or it is being
// deleted.
func (r *RuleObjects) served() types.UID {
	for _, item := range r.definition.GetStore().List() {
		definition, ok := item.(*unstructured.Unstructured)
		if !ok || definition.GetDeletionTimestamp() != nil {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
		for _, c := range conditions {
			if condition, ok := c.(map[string]any); ok && condition["type"] == string(apiextensionsv1.Established) && condition["status"] == "True" {
				return definition.GetUID()
			}
		}
	}
	return ""
}

// watch starts the informer of the objects.
func (r *RuleObjects) watch(ctx context.Context, uid types.UID, changed signal) {
	informer := dynamicinformer.NewFilteredDynamicInformer(r.client, RulesGVR(), r.namespace, 0, cache.Indexers{}, nil).Informer()
	registration, _ := informer.AddEventHandler(changed.handler()) // fails only once an informer has stopped
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			changed.send() // without objects there is no event
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = &ruleInformer{uid: uid, informer: informer, synced: registration.HasSynced, stop: func() {
		cancel()
		running.Wait()
	}}
}

// unwatch stops the informer of the objects, if there is one.
func (r *RuleObjects) unwatch() {
	r.mu.Lock()
	rules := r.rules
	r.rules = nil
	r.mu.Unlock()
	if rules != nil {
		rules.stop()
	}
}

// read returns the objects in the informer's store, unsorted.
func (r *RuleObjects) read() Snapshot {
	s := Snapshot{Complete: true}
	for _, item := range r.rules.informer.GetStore().List() {
		object, ok := item.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		bundle, err := bundleOfRule(object)
		if err != nil {
			s.Complete = false
			continue
		}
		bundle.Origin.Definition = r.rules.uid
		s.Bundles = append(s.Bundles, bundle)
	}
	return s
}

// bundleOfRule turns a Rule object into a document, without the metadata that the API server and others add.
func bundleOfRule(object *unstructured.Unstructured) (Bundle, error) {
	origin := Origin{Rule: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, UID: object.GetUID()}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
		"metadata": map[string]any{"name": object.GetName(), "namespace": object.GetNamespace()},
		"spec":     object.Object["spec"],
	})
	if err != nil {
		return Bundle{}, fmt.Errorf("read %s: %w", origin, err)
	}
	status, err := json.Marshal(object.Object["status"])
	if err != nil {
		return Bundle{}, fmt.Errorf("read %s: %w", origin, err)
	}
	return Bundle{
		Origin: origin, Created: object.GetCreationTimestamp().Time, Verdict: string(status),
		Annotations: AnnotationsOf(object),
		Texts:       []Text{{Name: origin.String(), Data: text, Object: true}},
	}, nil
}

// Covers reports whether a Rule object with this name would be read. It is false for one that went with an earlier
// definition.
func (r *RuleObjects) Covers(origin Origin) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return (r.namespace == metav1.NamespaceAll || origin.Rule.Namespace == r.namespace) && r.rules != nil && r.rules.synced() &&
		(origin.Definition == "" || origin.Definition == r.rules.uid)
}

// Report writes the report on one Rule object into its status: a condition Ready, its generation, and the counts of parents
// and children. It sends nothing if the status is up to date. changed is true if the condition's status or message
// changed.
func (r *RuleObjects) Report(ctx context.Context, origin Origin, report Report) (changed bool, err error) {
	r.mu.Lock()
	rules := r.rules
	r.mu.Unlock()
	if rules == nil {
		return false, nil
	}
	object := stored(rules.informer, origin.Rule, origin.UID)
	if object == nil {
		return false, nil // a deleted object needs no report
	}
	if report.Parents < 0 {
		report.Parents, report.Children = int(numberOf(object, "parents")), int(numberOf(object, "children"))
	}
	before := readyOf(object)
	ready := report.condition(object, before)
	changed = before["status"] != ready["status"] || before["message"] != ready["message"]
	if !changed && before["observedGeneration"] == ready["observedGeneration"] && before["reason"] == ready["reason"] &&
		numberOf(object, "parents") == int64(report.Parents) && numberOf(object, "children") == int64(report.Children) {
		return false, nil
	}
	status := map[string]any{"conditions": []any{ready}, "observedGeneration": object.GetGeneration()}
	if report.Parents >= 0 {
		status["parents"], status["children"] = report.Parents, report.Children
	}
	exists, err := applyReport(ctx, r.client.Resource(RulesGVR()), origin, origin.Rule, map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
		"metadata": map[string]any{"name": origin.Rule.Name, "namespace": origin.Rule.Namespace, "uid": origin.UID},
		"status":   status,
	}, "status")
	return changed && exists, err
}

// condition returns the report as the condition Ready of a Rule object.
func (r Report) condition(object *unstructured.Unstructured, before map[string]any) map[string]any {
	status, reason, message := "False", "NotInForce", r.Message
	if r.Ready {
		status, reason = "True", "InForce"
	}
	if len(r.Rules) == 1 && len(r.Problems) == 0 {
		message = r.Rules[0].Message
		reason = cmp.Or(r.Rules[0].Reason, reason)
	}
	since := time.Now().UTC().Format(time.RFC3339)
	if kept, ok := before["lastTransitionTime"].(string); ok && before["status"] == status {
		since = kept
	}
	return map[string]any{
		"type": "Ready", "status": status, "reason": reason, "message": message,
		"observedGeneration": object.GetGeneration(), "lastTransitionTime": since,
	}
}

// readyOf returns the condition Ready of an object; nil if it has none.
func readyOf(object *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == "Ready" {
			return condition
		}
	}
	return nil
}

// numberOf returns a number in an object's status, or -1.
func numberOf(object *unstructured.Unstructured, field string) int64 {
	n, found, err := unstructured.NestedInt64(object.Object, "status", field)
	if err != nil || !found {
		return -1
	}
	return n
}
