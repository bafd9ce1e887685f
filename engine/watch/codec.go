package watch

import (
	"bytes"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewForConfig is a dynamic client that reads what the API server sends by this package.
func NewForConfig(config *rest.Config) (*Client, error) {
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return NewClient(config, connection)
}

// NewClient is NewForConfig over a connection that is there.
func NewClient(config *rest.Config, connection *http.Client) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.GroupVersion = nil
	config.APIPath = "/not-used"
	usual := config.NegotiatedSerializer
	config.NegotiatedSerializer = negotiatedBy(usual, false)
	trees, err := rest.UnversionedRESTClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	config.NegotiatedSerializer = negotiatedBy(usual, true)
	objects, err := rest.UnversionedRESTClientForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("set up a client: %w", err)
	}
	return &Client{DynamicClient: dynamic.New(trees), objects: objects}, nil
}

// Client is a dynamic client that can also list and watch Objects.
type Client struct {
	*dynamic.DynamicClient
	objects rest.Interface
}

// negotiated is a dynamic client's serializer that reads and writes JSON by this package.
type negotiated struct {
	runtime.NegotiatedSerializer
	supported []runtime.SerializerInfo // for each request the same
}

// negotiatedBy makes it of the usual one. unread is true where objects are not to be read further than to Objects.
func negotiatedBy(usual runtime.NegotiatedSerializer, unread bool) negotiated {
	n := negotiated{NegotiatedSerializer: usual}
	for _, info := range usual.SupportedMediaTypes() {
		if info.MediaType != runtime.ContentTypeJSON {
			continue
		}
		info.Serializer = objects{info.Serializer, unread}
		stream := *info.StreamSerializer
		stream.Serializer, stream.Framer = events{stream.Serializer}, framer{stream.Framer}
		info.StreamSerializer = &stream
		n.supported = append(n.supported, info)
	}
	return n
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo { return n.supported }

// objects decodes and encodes objects; what it does not understand is left to client-go's serializer.
type objects struct {
	runtime.Serializer
	unread bool
}

// Decode implements runtime.Decoder.
func (s objects) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if tree, ok := into.(*unstructured.Unstructured); ok {
		return s.decodeAnswer(data, defaults, tree)
	}
	if into != nil {
		return s.Serializer.Decode(data, defaults, into)
	}
	object, err := Decode(data)
	if err != nil {
		if end := skip(data, 0, 0); end > 0 && bytes.HasPrefix(data[skipSpace(data, end):], []byte(",")) {
			data = data[:end] // the rest is of an event's envelope, see usualEvent
			object, err = Decode(data)
		}
	}
	if err != nil || object.APIVersion() == "" || object.Kind() == "Status" {
		decoded, gvk, err := s.Serializer.Decode(data, defaults, nil)
		if tree, ok := decoded.(*unstructured.Unstructured); ok && s.unread && err == nil {
			return Of(tree), gvk, nil
		}
		return decoded, gvk, err
	}
	gvk := object.GetObjectKind().GroupVersionKind()
	if s.unread {
		return object, &gvk, nil
	}
	return object.Tree(), &gvk, nil
}

// decodeAnswer decodes the answer to a request. The tree shares the memory of data, which client-go has read for it alone.
func (s objects) decodeAnswer(data []byte, defaults *schema.GroupVersionKind, tree *unstructured.Unstructured) (runtime.Object, *schema.GroupVersionKind, error) {
	object, err := decodeInPlace(data)
	if err != nil || object.APIVersion() == "" {
		return s.Serializer.Decode(data, defaults, tree)
	}
	tree.Object = object.Tree().Object
	gvk := object.GetObjectKind().GroupVersionKind()
	return tree, &gvk, nil
}

// usualEvent takes an envelope apart that has a type and an object and nothing else, in this order, as the API server writes
// them. The object is not looked at, as whoever decodes it does that; where there is more after it, it has that at its end.
func usualEvent(data []byte) (kind string, object []byte, ok bool) {
	rest, begins := bytes.CutPrefix(data, []byte(`{"type":"`))
	name, rest, goesOn := bytes.Cut(rest, []byte(`","object":`))
	object, ends := bytes.CutSuffix(bytes.TrimRight(rest, " \t\r\n"), []byte("}"))
	isWord := !bytes.ContainsFunc(name, func(r rune) bool { return r < 'A' || r > 'Z' })
	return string(name), object, begins && goesOn && ends && isWord && len(name) > 0 && bytes.HasPrefix(object, []byte("{"))
}

// events decodes the envelopes of a watch.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder. The object of a usual event shares the memory of data.
func (s events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if kind, object, usual := usualEvent(data); ok && usual {
		event.Type, event.Object.Raw = kind, object
		return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
	}
	return s.Serializer.Decode(data, defaults, into)
}

// accessor is an Object for client-go's informers, which ask for its identity, and for the annotations of bookmarks. Any
// other method panics.
type accessor struct {
	metav1.Object // nil

	of *Object
}

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (o *Object) GetObjectMeta() metav1.Object { return accessor{of: o} }

// GetObjectKind implements runtime.Object.
func (o *Object) GetObjectKind() schema.ObjectKind { return accessor{of: o} }

func (a accessor) GetNamespace() string       { return a.of.namespace }
func (a accessor) GetName() string            { return a.of.name }
func (a accessor) GetUID() types.UID          { return types.UID(a.of.uid) }
func (a accessor) GetResourceVersion() string { return a.of.version }

func (a accessor) GetAnnotations() map[string]string { return a.of.Head().GetAnnotations() }

// GroupVersionKind implements schema.ObjectKind.
func (a accessor) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(a.of.APIVersion(), a.of.Kind())
}

// SetGroupVersionKind implements schema.ObjectKind.
func (a accessor) SetGroupVersionKind(schema.GroupVersionKind) {
	panic("an object of package watch cannot be changed")
}
