package wire

import (
	"sync"
	"unique"

	"github.com/klauspost/compress/s2"
)

const (
	// manyAlike is from how many objects of one template on their texts are packed: a dictionary takes the memory of about
	// twenty texts.
	manyAlike = 20
	// maxTemplates is how many templates one Packer tells apart.
	maxTemplates = 16
	// maxPacked is how many bytes a text may have to be packed: more is slow to unpack.
	maxPacked = 64 << 10
)

// content is the text of an object: as it is, or as what it has beyond a dictionary.
type content struct {
	data       string
	dictionary *s2.Dict
}

func (c content) text() string {
	if c.dictionary == nil {
		return c.data
	}
	text, err := c.dictionary.Decode(nil, []byte(c.data))
	if err != nil {
		panic("wire: a text that was packed is broken: " + err.Error())
	}
	return string(text)
}

// size is how many bytes the text has.
func (c content) size() int {
	if c.dictionary == nil {
		return len(c.data)
	}
	size, err := s2.DecodedLen([]byte(c.data))
	if err != nil {
		panic("wire: a text that was packed is broken: " + err.Error())
	}
	return size
}

// Packer packs the texts of objects that are kept. Objects of one template, which are told by their managedFields, differ
// in names, UIDs and a few values, so the text of one of them serves as the dictionary of the others: of two KiB there
// remain some three hundred bytes. The zero value is ready; it is safe for concurrent use.
type Packer struct {
	mu        sync.Mutex
	templates map[unique.Handle[string]]*template // by what stands first in managedFields. Guarded by mu.
}

type template struct {
	seen       int
	dictionary *s2.Dict // nil: too few have been seen
}

// Pack is the object in less memory, where that is possible: each reading of it takes about a microsecond more for a KiB.
func (p *Packer) Pack(o *Object) *Object {
	if o == nil || o.tree != nil || o.content.dictionary != nil || len(o.content.data) > maxPacked || len(o.paths) == 0 {
		return o
	}
	dictionary := p.dictionaryFor(o)
	if dictionary == nil {
		return o
	}
	packed := dictionary.Encode(nil, []byte(o.content.data))
	if len(packed) > len(o.content.data)*3/4 {
		return o
	}
	return &Object{
		typeMeta: o.typeMeta, namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, paths: o.paths,
		content: content{string(packed), dictionary},
	}
}

// dictionaryFor is the dictionary of the object's template; nil where there is none, or not yet.
func (p *Packer) dictionaryFor(o *Object) *s2.Dict {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := o.paths[0].before
	t := p.templates[first]
	switch {
	case t != nil:
	case len(p.templates) >= maxTemplates:
		return nil
	case p.templates == nil:
		p.templates = map[unique.Handle[string]]*template{}
		fallthrough
	default:
		t = &template{}
		p.templates[first] = t
	}
	if t.seen++; t.seen == manyAlike {
		t.dictionary = s2.MakeDict([]byte(o.content.data), nil)
	}
	return t.dictionary
}
