package wire

import (
	"sync"
	"unique"
	"unsafe"

	"github.com/klauspost/compress/s2"
)

const (
	// manyAlike is how many texts of one template come, be they of one object, before a dictionary is made for them, which
	// takes as much memory as about twenty of them; and how many in a row may have too little in common with it before
	// another takes its place.
	manyAlike = 100
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
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text, err := c.dictionary.Decode((*buffer)[:cap(*buffer)], []byte(c.data))
	if err != nil {
		panic("wire: a text that was packed is broken: " + err.Error())
	}
	*buffer = text
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
	templates map[template]*alike // guarded by mu
}

// template is what the objects of one template have in common: how many managers they have, and the paths of the first.
type template struct {
	managers int
	paths    unique.Handle[string]
}

// alike is what is known of a template.
type alike struct {
	dictionary *s2.Dict // nil: too few have come
	// unpacked is how many in a row were left as they are.
	unpacked int
}

// Pack is the object in less memory, where that is possible: each reading of it takes about a microsecond more for a KiB.
func (p *Packer) Pack(o *Object) *Object {
	if o == nil || o.tree != nil || o.content.dictionary != nil || len(o.content.data) > maxPacked || len(o.paths) == 0 {
		return o
	}
	packed := p.pack(template{len(o.paths), o.paths[0].before}, o.content.data)
	if packed.dictionary == nil {
		return o
	}
	small := &Object{
		typeMeta: o.typeMeta, namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, paths: o.paths, content: packed, marking: o.marking, tag: o.tag,
	}
	small.meta.at.Store(o.meta.at.Load())
	return small
}

// pack packs the text of an object of a template; it has no dictionary where that is not worth it.
func (p *Packer) pack(of template, text string) content {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.templates[of]
	if a == nil {
		p.makeRoom()
		a = &alike{}
		p.templates[of] = a
	}
	if a.dictionary != nil {
		if c := packedBy(a.dictionary, text); len(c.data) <= len(text)*3/4 {
			a.unpacked = 0
			return c
		}
	}
	if a.unpacked++; a.unpacked >= manyAlike {
		*a = alike{dictionary: s2.MakeDict([]byte(text), nil)}
	}
	return content{data: text}
}

// makeRoom forgets a template where there are too many: that of which the fewest texts have come. What is packed keeps its
// dictionary.
func (p *Packer) makeRoom() {
	if p.templates == nil {
		p.templates = map[template]*alike{}
	}
	if len(p.templates) < maxTemplates {
		return
	}
	fewest, least := template{}, manyAlike+1
	for of, a := range p.templates {
		if texts := a.texts(); texts < least {
			fewest, least = of, texts
		}
	}
	delete(p.templates, fewest)
}

// texts is how many texts have come; all that are enough for a dictionary count the same.
func (a *alike) texts() int {
	if a.dictionary != nil {
		return manyAlike
	}
	return a.unpacked
}

func packedBy(dictionary *s2.Dict, text string) content {
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	source := unsafe.Slice(unsafe.StringData(text), len(text)) // Encode only reads it
	*buffer = dictionary.Encode((*buffer)[:cap(*buffer)], source)
	return content{string(*buffer), dictionary}
}
