package manifests

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientopenapi "k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
)

// Kinds are the kinds that rules are checked against, with their schemas: the built-in kinds or those of a cluster, and
// those that definitions in files add. It implements rules.Kinds, rules.KindLister and openapi.Schemas.
type Kinds struct {
	table *restmapping.Table
	// pool shares common parts of schemas.
	pool openapi.Pool
	// given has the schemas from files; others those of built-in kinds, or those loaded from the cluster.
	given, others openapi.Kinds
	// crds are the definitions from files.
	crds []*unstructured.Unstructured
	// cluster and live are nil without a cluster.
	cluster *restmapping.Mapper
	live    *openapi.Published
}

// BuiltinKinds are Kubernetes' own kinds. An error means that the program was built incorrectly.
func BuiltinKinds() (*Kinds, error) {
	table, err1 := restmapping.LoadBuiltin()
	others, err2 := openapi.BuiltinKinds()
	return &Kinds{table: table, given: openapi.Kinds{}, others: others}, errors.Join(err1, err2)
}

// ClusterKinds discovers the kinds of a cluster. Their schemas are read when Check needs them.
func ClusterKinds(ctx context.Context, config *rest.Config) (*Kinds, error) {
	mapper, err := restmapping.New(restmapping.Options{Config: config})
	if err != nil {
		return nil, err
	}
	// Every cluster has ConfigMaps. The lookup discovers all other kinds as well.
	_, err = mapper.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	switch {
	case apierrors.IsForbidden(err): // its text is only "unknown"
		return nil, fmt.Errorf("ask %s for its kinds: forbidden; the user needs the ClusterRole system:discovery", config.Host)
	case err != nil:
		return nil, fmt.Errorf("ask %s for its kinds: %w", config.Host, err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return &Kinds{
		table: &restmapping.Table{}, given: openapi.Kinds{}, others: openapi.Kinds{},
		cluster: mapper, live: openapi.NewPublished(clientopenapi.NewClientWithContext(client.RESTClient())),
	}, nil
}

// Serving returns the kinds as the engine knows them: those of the cluster, if there is one, and those of files.
func (k *Kinds) Serving() (*restmapping.Mapper, *openapi.Published, error) {
	if k.cluster == nil {
		schemas, err := openapi.NewFixed(k.crds)
		return restmapping.NewFixed(k.table.Kinds()), schemas, err
	}
	if len(k.crds) == 0 {
		return k.cluster, k.live, nil
	}
	return restmapping.NewFixed(append(k.table.Kinds(), k.cluster.Kinds()...)), k.live, nil
}

// load reads the schemas of kinds from the cluster, if there is one, unless files have them. A kind without a schema,
// or without one yet, is checked without.
func (k *Kinds) load(ctx context.Context, kinds []schema.GroupVersionKind) error {
	if k.live == nil {
		return nil
	}
	for _, gvk := range kinds {
		if _, served := k.cluster.Lookup(gvk); !served || k.Schema(gvk) != nil {
			continue
		}
		s, err := k.live.Kind(ctx, gvk)
		switch {
		case errors.Is(err, openapi.ErrNoSchema), errors.Is(err, openapi.ErrNotPublished):
		case err != nil:
			return err
		default:
			k.others[gvk] = s
		}
	}
	return nil
}

// Schema implements openapi.Schemas.
func (k *Kinds) Schema(gvk schema.GroupVersionKind) *openapi.Schema {
	return openapi.Layers{k.given, k.others}.Schema(gvk)
}

// howToKnow says how to make a kind known.
func (k *Kinds) howToKnow() string {
	if k.cluster != nil {
		return "give its CustomResourceDefinition with --schemas"
	}
	return "give its CustomResourceDefinition with --schemas, or ask the cluster with --cluster"
}

// define adds the kinds of definitions. Invalid definitions are skipped: they are reported elsewhere, or by the API
// server.
func (k *Kinds) define(crds []*unstructured.Unstructured) {
	k.crds = append(k.crds, crds...)
	for _, crd := range crds {
		_ = k.table.Define(crd)
		if kinds, err := k.pool.FromCRD(crd); err == nil {
			maps.Copy(k.given, kinds)
		}
	}
}

// defineDocument adds the kinds of an OpenAPI v3 document.
func (k *Kinds) defineDocument(data []byte) error {
	kinds, err := k.pool.FromDocument(data)
	if err != nil {
		return err
	}
	maps.Copy(k.given, kinds)
	return k.table.DefineDocument(data)
}

// Resource is the resource of a kind, such as deployments.
func (k *Kinds) Resource(gvk schema.GroupVersionKind) (schema.GroupVersionResource, bool) {
	kind, ok := k.kind(gvk)
	return kind.GVR, ok
}

func (k *Kinds) kind(gvk schema.GroupVersionKind) (restmapping.Kind, bool) {
	kind, ok := k.table.Lookup(gvk)
	if !ok && k.cluster != nil {
		return k.cluster.Lookup(gvk)
	}
	return kind, ok
}

// Lookup implements rules.Kinds.
func (k *Kinds) Lookup(gvk schema.GroupVersionKind) (rules.Kind, bool) {
	kind, ok := k.kind(gvk)
	return rules.Kind{Namespaced: kind.Namespaced, HasStatus: kind.HasStatus, Verbs: kind.Verbs}, ok
}

// Known implements rules.KindLister.
func (k *Kinds) Known() []schema.GroupVersionKind {
	all := k.table.Kinds()
	if k.cluster != nil {
		all = append(all, k.cluster.Kinds()...)
	}
	known := make([]schema.GroupVersionKind, len(all))
	for i, kind := range all {
		known[i] = kind.GVK
	}
	return known
}

// Complete implements rules.KindLister. Without a cluster, only Kubernetes' own groups and the kinds of given
// definitions are known completely.
func (k *Kinds) Complete(kind schema.GroupKind) bool {
	if k.cluster != nil || k.ofKubernetes(kind.Group) {
		return true
	}
	for _, known := range k.table.Kinds() {
		if known.GVK.GroupKind() == kind {
			return true
		}
	}
	return false
}

// ofKubernetes reports whether a group is one of Kubernetes' own, in this version or another: groups of
// CustomResourceDefinitions have a dot.
func (k *Kinds) ofKubernetes(group string) bool {
	return k.table.HasGroup(group) || !strings.Contains(group, ".")
}

// TakesConditions reports whether Kanon sets conditions on objects of a kind: on custom kinds whose schema has
// conditions, and on kinds without a known schema.
func (k *Kinds) TakesConditions(gvk schema.GroupVersionKind) bool {
	s := k.Schema(gvk)
	if s == nil || k.table.HasGroup(gvk.Group) {
		return s == nil
	}
	status := s.Fields["status"]
	return status != nil && status.Schema.Fields["conditions"] != nil
}

// Place implements rules.KindLister.
func (k *Kinds) Place(group string) string {
	switch {
	case k.cluster != nil:
		return "the cluster"
	case k.ofKubernetes(group):
		return "Kubernetes " + k.table.Version()
	default:
		return "the CustomResourceDefinition"
	}
}
