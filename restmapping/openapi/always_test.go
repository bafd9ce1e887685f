package openapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping"
)

// alwaysFile is read by package openapi, for the schemas that a cluster publishes have these fields, too.
const alwaysFile = "always.txt"

// TestAlwaysSetFields compares always.txt with what the API server makes of the least objects, or writes it.
//
// A field is always set if the answer to a dry run of every creation has it. Each of testdata/least.yaml is tried as it is, and
// with every choice made otherwise: every other value of an enumeration, true and false, and 1 for a number, because such
// choices decide which other fields there are. What the least object itself has to say counts where the API server calls it
// required whatever is chosen beside it, and not where it is one of several that would do.
func TestAlwaysSetFields(t *testing.T) {
	config := rest.CopyConfig(controlplanetest.Config(t))
	config.WarningHandlerWithContext = rest.NoWarnings{} // variants may be deprecated
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	builtinKinds, err := BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	s := survey{client: client, table: table, namespace: controlplanetest.Namespace(t, config), found: map[string]*occurrences{}}
	tried := sets.New[schema.GroupVersionKind]()
	for _, least := range leastObjects(t, s.namespace) {
		s.try(t, least, builtinKinds.Schema(least.GroupVersionKind()))
		tried.Insert(least.GroupVersionKind())
	}
	for _, kind := range table.Kinds() {
		if kind.Verbs.HasAll("create", "get") && !tried.Has(kind.GVK) && !unmade().Has(kind.GVK.Kind) {
			t.Errorf("least.yaml has no %s", kind.GVK)
		}
	}
	want := fmt.Sprintf("# What the API server of Kubernetes %s sets in every object. Written by go generate; do not edit.\n%s", table.Version(), s.lines())
	if *update {
		if err := os.WriteFile(alwaysFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(alwaysFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("always.txt is not what the control plane says; run go generate (-want +got):\n%s", diff)
	}
}

// unmade are kinds that no rule makes: their content is signed, by a kubelet or a certificate authority.
func unmade() sets.Set[string] { return sets.New("ClusterTrustBundle", "PodCertificateRequest") }

// passing are fields that an object has when it is made, and may lose later, or that others lack.
func passing() map[string]sets.Set[string] {
	return map[string]sets.Set[string]{
		"io.k8s.api.core.v1.NodeSpec":                              sets.New("taints"),                                              // not-ready, until the kubelet reports
		"io.k8s.api.core.v1.NamespaceSpec":                         sets.New("finalizers"),                                          // gone while the namespace ends
		"v1.Pod.spec":                                              sets.New("serviceAccount", "serviceAccountName", "tolerations"), // not of mirror Pods
		"io.k8s.api.certificates.v1.CertificateSigningRequestSpec": sets.New("extra", "uid"),                                        // of who asks
		"io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec": sets.New("limited"),                                             // of all but the one that is exempt
		"io.k8s.api.admissionregistration.v1.Mutation":             sets.New("applyConfiguration"),                                  // or a JSON patch
		// Those that were made as objects of another version of the kind.
		"events.k8s.io/v1.Event":                                sets.New("action", "reason", "reportingController", "reportingInstance"),
		"io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec": sets.New("targetCPUUtilizationPercentage"),
	}
}

// leastObjects are those of testdata/least.yaml.
func leastObjects(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("testdata/least.yaml")
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("NAMESPACE", namespace, "REQUEST", certificateRequest(t)).Replace(string(text))
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq(filled, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func certificateRequest(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
}

// survey collects what the API server answers.
type survey struct {
	client    dynamic.Interface
	table     *restmapping.Table
	namespace string
	found     map[string]*occurrences
}

// occurrences are all objects that were seen with one schema.
type occurrences struct {
	schema  *Schema
	objects int
	// with counts the objects that have a field.
	with map[string]int
	// sure are the fields that the API server has filled in, or called required.
	sure sets.Set[string]
}

// try notes what the API server makes of the least object of a kind and of its variants.
func (s *survey) try(t *testing.T, least *unstructured.Unstructured, kind *Schema) {
	t.Helper()
	answer, err := s.create(t, least)
	if err != nil {
		t.Errorf("%s %s: %v", least.GetKind(), least.GetName(), err)
		return
	}
	s.note(kind, answer.Object, least.Object)
	for _, v := range variantsOf(kind, answer.Object) {
		variant := least.DeepCopy()
		if !put(variant.Object, v.path, v.value) {
			continue
		}
		if answer, err := s.create(t, variant); err == nil {
			s.note(kind, answer.Object, variant.Object)
		}
	}
	s.noteRequired(t, least, kind, least.Object, nil)
}

// create makes an object in a dry run. The error is why the API server takes no such object.
func (s *survey) create(t *testing.T, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	t.Helper()
	kind, ok := s.table.Lookup(object.GroupVersionKind())
	if !ok {
		t.Fatalf("there is no kind %s", object.GroupVersionKind())
	}
	var resource dynamic.ResourceInterface = s.client.Resource(kind.GVR)
	if kind.Namespaced {
		resource = s.client.Resource(kind.GVR).Namespace(s.namespace)
	}
	return resource.Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
}

// note counts the fields of an object and of all that are in it. given is what was sent.
func (s *survey) note(kind *Schema, got, given any) {
	switch v := got.(type) {
	case map[string]any:
		said, _ := given.(map[string]any)
		switch kind.Type {
		case Object:
			s.noteObject(kind, v, said)
		case Map:
			for name, value := range v {
				s.noteItem(kind, value, said[name])
			}
		}
	case []any:
		said, _ := given.([]any)
		for i := range min(len(v), len(said)) { // an item that admission adds tells nothing of others
			s.noteItem(kind, v[i], said[i])
		}
	}
}

func (s *survey) noteItem(kind *Schema, got, given any) {
	if kind.Items != nil {
		s.note(kind.Items, got, given)
	}
}

func (s *survey) noteObject(kind *Schema, got, given map[string]any) {
	s.of(kind.Title(), kind).count(got, given)
	for name, value := range got {
		field := kind.Fields[name]
		if value == nil || field == nil || isOfEveryKind(kind, name) {
			continue
		}
		s.note(field.Schema, value, given[name])
		if spec, ok := value.(map[string]any); ok && name == "spec" && isWhole(kind) {
			said, _ := given[name].(map[string]any)
			s.of(kind.Title()+".spec", field.Schema).count(spec, said) // which others may have in a template
		}
	}
}

// count takes in one object.
func (o *occurrences) count(got, given map[string]any) {
	o.objects++
	for name, value := range got {
		if value == nil || o.schema.Fields[name] == nil || isOfEveryKind(o.schema, name) {
			continue
		}
		o.with[name]++
		if _, said := given[name]; !said {
			o.sure.Insert(name)
		}
	}
}

// isWhole says whether a schema is that of whole objects.
func isWhole(kind *Schema) bool {
	return kind.Fields["apiVersion"] != nil && kind.Fields["kind"] != nil && kind.Fields["metadata"] != nil
}

// isOfEveryKind says whether a field is one of a whole object that is not its kind's own.
func isOfEveryKind(kind *Schema, name string) bool {
	return isWhole(kind) && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name)
}

func (s *survey) of(title string, kind *Schema) *occurrences {
	if s.found[title] == nil {
		s.found[title] = &occurrences{schema: kind, with: map[string]int{}, sure: sets.New[string]()}
	}
	return s.found[title]
}

// noteRequired finds out which of the fields that the least object has the API server calls required: it is asked without.
// value is what stands at a path of the object.
func (s *survey) noteRequired(t *testing.T, least *unstructured.Unstructured, kind *Schema, value any, path []any) {
	t.Helper()
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			field := kind.Fields[name]
			if field == nil || isOfEveryKind(kind, name) {
				continue
			}
			at := append(slices.Clone(path), name)
			s.noteRequired(t, least, field.Schema, below, at)
			if !field.Required && s.misses(t, least, kind, at) {
				s.of(kind.Title(), kind).sure.Insert(name)
			}
		}
	case []any:
		for i, item := range v {
			if kind.Items != nil {
				s.noteRequired(t, least, kind.Items, item, append(slices.Clone(path), i))
			}
		}
	}
}

// misses says whether the API server calls a field of the least object required, also with each choice made otherwise in the
// object that kind is of.
func (s *survey) misses(t *testing.T, least *unstructured.Unstructured, kind *Schema, path []any) bool {
	t.Helper()
	without := least.DeepCopy()
	if !put(without.Object, path, nil) {
		return false
	}
	objects := []*unstructured.Unstructured{without}
	for name, field := range kind.Fields {
		for _, value := range field.Schema.Enum {
			variant := without.DeepCopy()
			if put(variant.Object, append(slices.Clone(path[:len(path)-1]), name), value) {
				objects = append(objects, variant)
			}
		}
	}
	return !slices.ContainsFunc(objects, func(object *unstructured.Unstructured) bool {
		_, err := s.create(t, object)
		return !isRequired(err, pathText(path))
	})
}

// isRequired says whether the API server misses the field at a path, and nothing around it.
func isRequired(err error, path string) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeFieldValueRequired && c.Field == path
	})
}

// lines are the fields that were there in all objects, for each schema that has some.
func (s *survey) lines() string {
	var b strings.Builder
	for _, title := range slices.Sorted(maps.Keys(s.found)) {
		o := s.found[title]
		always := slices.DeleteFunc(slices.Sorted(maps.Keys(o.with)), func(name string) bool {
			field := o.schema.Fields[name]
			known := field.Required || field.Defaulted || title != o.schema.Title() && s.always(o.schema.Title(), name)
			return known || !s.always(title, name)
		})
		if len(always) > 0 {
			b.WriteString(title + " " + strings.Join(always, " ") + "\n")
		}
	}
	return b.String()
}

// always says whether the field was there in all objects.
func (s *survey) always(title, name string) bool {
	o := s.found[title]
	return o.with[name] == o.objects && (o.sure.Has(name) || s.found[o.schema.Title()].sure.Has(name)) && !passing()[title].Has(name) && !passing()[o.schema.Title()].Has(name)
}

// variant is another value at a path of names and indices.
type variant struct {
	path  []any
	value any
}

// variantsOf are the choices that could be made otherwise in the objects of an answer.
func variantsOf(kind *Schema, got any) []variant {
	var variants []variant
	var visit func(kind *Schema, got any, path []any)
	visit = func(kind *Schema, got any, path []any) {
		switch v := got.(type) {
		case map[string]any:
			for name, field := range kind.Fields {
				if isOfEveryKind(kind, name) {
					continue
				}
				at := append(slices.Clone(path), name)
				for _, value := range choices(field.Schema) {
					variants = append(variants, variant{path: at, value: value})
				}
				visit(field.Schema, v[name], at)
			}
		case []any:
			for i, item := range v {
				if kind.Items != nil {
					visit(kind.Items, item, append(slices.Clone(path), i))
				}
			}
		}
	}
	visit(kind, got, nil)
	return variants
}

// choices are values that a field can have. What it has by default is another thing when it is written out.
func choices(s *Schema) []any {
	var values []any
	switch {
	case len(s.Enum) > 0:
		values = slices.Clone(s.Enum)
	case s.Type == Boolean:
		values = []any{true, false}
	case s.Type == Integer:
		values = []any{int64(1), int64(2)}
	}
	return values
}

// put sets the value at a path, or removes it where it is nil. false: there is no such item of a list.
func put(object map[string]any, path []any, value any) bool {
	var at any = object
	for i, step := range path {
		last := i == len(path)-1
		switch step := step.(type) {
		case int:
			items, _ := at.([]any)
			if step >= len(items) {
				return false
			}
			at = items[step]
		case string:
			fields, ok := at.(map[string]any)
			switch {
			case !ok:
				return false
			case last && value == nil:
				delete(fields, step)
			case last:
				fields[step] = runtime.DeepCopyJSONValue(value)
			case fields[step] == nil:
				if _, toList := path[i+1].(int); toList {
					return false
				}
				fields[step] = map[string]any{}
			}
			at = fields[step]
		}
	}
	return true
}

// pathText is a path as the API server writes it.
func pathText(path []any) string {
	var b strings.Builder
	for _, step := range path {
		if i, isIndex := step.(int); isIndex {
			fmt.Fprintf(&b, "[%d]", i)
			continue
		}
		fmt.Fprintf(&b, ".%s", step)
	}
	return strings.TrimPrefix(b.String(), ".")
}
