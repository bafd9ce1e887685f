package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Resource lists and watches the objects of one resource as Objects.
type Resource struct {
	client rest.Interface
	path   []string
	// metadata is true where nothing is asked for but the metadata of objects.
	metadata bool
	// list answers List in place of the client, unless it is nil.
	list func(metav1.ListOptions) []*unstructured.Unstructured
}

// ListedBy is a resource whose lists a function gives, each as one page.
func ListedBy(list func(metav1.ListOptions) []*unstructured.Unstructured) Resource {
	return Resource{list: list}
}

// Objects is a resource, in one namespace or, where that is empty, in all.
func (c *Client) Objects(gvr schema.GroupVersionResource, namespace string) Resource {
	path := []string{"apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"api", gvr.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return Resource{client: c.objects, path: append(path, gvr.Resource)}
}

// Metadata is the same resource with no more of its objects than their metadata; each is of the
// kind PartialObjectMetadata. An API server that cannot do that sends whole objects.
func (r Resource) Metadata() Resource {
	r.metadata = true
	return r
}

// get begins a request that is answered by kind where only metadata is asked for.
func (r Resource) get(options *metav1.ListOptions, kind string) *rest.Request {
	request := r.client.Get().AbsPath(r.path...).SpecificallyVersionedParams(options, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
	if r.metadata {
		request.SetHeader("Accept", "application/json;as="+kind+";g=meta.k8s.io;v=v1,application/json")
	}
	return request
}

// Watch starts a watch, of which the events have an *Object each, or a *metav1.Status.
func (r Resource) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return r.get(&options, "PartialObjectMetadata").Watch(ctx)
}

// List reads a list.
func (r Resource) List(ctx context.Context, options metav1.ListOptions) (*List, error) {
	if r.list != nil {
		list := &List{}
		for _, object := range r.list(options) {
			list.Items = append(list.Items, Of(object))
		}
		return list, nil
	}
	result := r.get(&options, "PartialObjectMetadataList").Do(ctx)
	if err := result.Error(); err != nil { // which has what the API server says; that of Raw does not
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	list, err := decodeList(body)
	if err != nil {
		return nil, fmt.Errorf("decode a list of %s: %w", r.path[len(r.path)-1], err)
	}
	return list, nil
}

// pageDeadline bounds the wait for one page, so that an API that does not answer holds up nobody for longer. It is the
// default of the API server's --request-timeout.
const pageDeadline = time.Minute

// MetadataPage reads a page of a list: the metadata of objects of a kind, without their content. next is the Continue of
// the page that follows; empty if there is none. It gives up after a minute.
func (r Resource) MetadataPage(
	ctx context.Context, kind schema.GroupVersionKind, options metav1.ListOptions,
) (objects []*unstructured.Unstructured, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pageDeadline)
	defer cancel()
	list, err := r.Metadata().List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	objects = make([]*unstructured.Unstructured, len(list.Items))
	for i, item := range list.Items {
		objects[i] = &unstructured.Unstructured{Object: map[string]any{"metadata": item.Head().Object["metadata"]}}
		objects[i].SetGroupVersionKind(kind) // the item says PartialObjectMetadata
	}
	return objects, list.Continue, nil
}

// List is a list of objects as the API server sent it.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Object
}

// DeepCopyObject implements runtime.Object.
func (l *List) DeepCopyObject() runtime.Object {
	other := *l
	other.Items = append([]*Object(nil), l.Items...)
	return &other
}

func decodeList(body []byte) (*List, error) {
	list := &List{}
	var found [][]byte // before its kind is known
	var meta []byte
	start := skipSpace(body, 0)
	if start >= len(body) || body[start] != '{' {
		return nil, errMalformed
	}
	end := members(body, start, func(keyStart, keyEnd, at int) int {
		key := unquote(string(body[keyStart-1 : keyEnd+1]))
		if key == "items" && at < len(body) && body[at] == '[' {
			return items(body, at, func(at int) int {
				after := skip(body, at, 2)
				if after >= 0 {
					found = append(found, body[at:after])
				}
				return after
			})
		}
		after := skip(body, at, 1)
		switch {
		case after < 0:
		case key == "metadata":
			meta = body[at:after]
		case key == "apiVersion" && body[at] == '"':
			list.APIVersion = unquote(string(body[at:after]))
		case key == "kind" && body[at] == '"':
			list.Kind = unquote(string(body[at:after]))
		}
		return after
	})
	if end < 0 || list.Kind == "" {
		return nil, errMalformed
	}
	if meta != nil {
		if err := json.Unmarshal(meta, &list.ListMeta); err != nil {
			return nil, err
		}
	}
	// The API server does not say of each item of a list what it is.
	implied := typeMeta{apiVersion: list.APIVersion, kind: strings.TrimSuffix(list.Kind, "List")}
	list.Items = make([]*Object, len(found))
	for i, text := range found {
		item, err := decode(text, implied)
		if err != nil {
			if item, err = decodeSlowly(text, implied); err != nil {
				return nil, err
			}
		}
		list.Items[i] = item
	}
	return list, nil
}

// decodeSlowly reads what decode does not understand, as client-go does.
func decodeSlowly(text []byte, implied typeMeta) (*Object, error) {
	tree := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &tree.Object); err != nil {
		return nil, err
	}
	if tree.GetKind() == "" {
		tree.SetAPIVersion(implied.apiVersion)
		tree.SetKind(implied.kind)
	}
	return Of(tree), nil
}
