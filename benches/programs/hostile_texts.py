"""Gives file names, units, titles and texts of files markup and characters on which a terminal acts, and runs `warpstride` on them in the current folder:
reports must escape them, and nothing may be printed raw. The exit code is 1 otherwise.

    hostile_texts.py WARPSTRIDE
"""
import pathlib
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
from hostile_files import scan
from hostile_results import ACTS
prog = sys.argv[1]
EVIL = '<img src=x onerror=alert(1)>"\'&\x1b[31m\x9b5m\u202e\n'
def run(*args, env=None):
    p = subprocess.run([prog, *args], capture_output=True, timeout=300)
    out, err = p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")
    return p.returncode, out, err
wrong = 0


def report(label, code, out, err, html=None):
    global wrong
    bad = []
    for what, text in (("stdout", out), ("stderr", err)):
        m = ACTS.search(text)
        if m: bad.append(f"{what} has {m.group()!r} near {text[max(0,m.start()-60):m.end()+10]!r}")
    if err and err.strip().count("\n") > 20: bad.append("many lines")
    if html and pathlib.Path(html).exists():
        text = pathlib.Path(html).read_text()
        if "<img src=x" in text: i=text.index("<img src=x"); bad.append("html has markup: "+repr(text[i-80:i+40]))
        m = ACTS.search(text)
        if m: bad.append(f"html has {m.group()!r} near {text[max(0,m.start()-60):m.end()+10]!r}")
    elif html: bad.append("no html")
    wrong += bool(bad)
    print(label, code, "OK" if not bad else bad, err.strip()[:150].encode('unicode_escape').decode())
name = "<img src=x onerror=alert(1)>\"'&\x1b[31m\x9b5m\u202e\n.cxi"
with scan(name) as f:
    for n in range(1,3):
        g=f.create_group(f"/entry_1/process_{n}")
        g.attrs["NX_class"]="NXprocess"
        g["program"]=EVIL; g["version"]=EVIL; g["sequence_index"]=n; g["note"]=EVIL; g["date"]=EVIL
    f["/entry_1/instrument_1/detector_1/distance"].attrs["units"]=EVIL[:3]
    f["/entry_1/title"]=EVIL
    del f["/entry_1/instrument_1/detector_1/distance"].attrs["units"]
report("info --report", *run("ptycho","info",name,"--report","i.html"), "i.html")
report("info --json", *run("ptycho","info",name,"--json"))
report("reconstruct", *run("ptycho","reconstruct",name,"-o","r.h5","--engine","epie:2","--backend","cpu","--report","r.html","--summary","s.json"), "r.html")
report("missing", *run("ptycho","info",name+"x"))
report("import", *run("ptycho","import",name,"-o","imp.cxi"))
for unit in (EVIL, "\x1b[2J"):
    with h5py.File(name,"r+") as f: f["/entry_1/instrument_1/detector_1/distance"].attrs["units"]=unit
    report("unit", *run("ptycho","info",name))
with h5py.File("links.cxi","w") as f:
    f["/entry_1/instrument_1/detector_1/data"]=h5py.ExternalLink(EVIL, EVIL)
report("external link", *run("ptycho","info","links.cxi"))
with h5py.File("v.cxi","w") as f:
    l=h5py.VirtualLayout((16,32,32),"u4"); l[:]=h5py.VirtualSource(EVIL,EVIL,(16,32,32)); f.create_virtual_dataset("/entry_1/instrument_1/detector_1/data",l)
report("virtual", *run("ptycho","info","v.cxi"))
shutil.copy("r.h5","r2.h5")
with h5py.File("r2.h5","r+") as f:
    e=f["/entry_1/image_1/history/engine"]; n=e.shape[0]; del f["/entry_1/image_1/history/engine"]
    f.create_dataset("/entry_1/image_1/history/engine",data=np.array([EVIL]*n,object),dtype=h5py.string_dtype())
    for k in ("backend","device","version","source_file","plan"):
        p=f"/entry_1/image_1/process_1/{k}"
        if p in f: del f[p]
        f[p]=EVIL
report("compare", *run("ptycho","compare","r2.h5","r.h5"))
report("compare json", *run("ptycho","compare","r2.h5","r.h5","--json"))
if "sas" in run("--help")[1]:
    xml=('<?xml version="1.0"?><SASroot version="1.1"><SASentry><Title>&lt;img src=x onerror=alert(1)&gt;&#9;\u202e\u009b31m</Title><Run/><SASdata>'
      +"".join(f'<Idata><Q unit="1/A">{0.01*(i+1)}</Q><I unit="&lt;img src=x&gt;\u202e">{1/(i+1)}</I><Idev unit="1/cm">0.1</Idev></Idata>' for i in range(30))+"</SASdata></SASentry></SASroot>")
    pathlib.Path(name+".xml").write_text(xml)
    report("sas info", *run("sas","info",name+".xml"))
    report("sas info json", *run("sas","info",name+".xml","--json"))
    report("sas fit", *run("sas","fit","sphere",name+".xml","--fit","radius","--report","f.html","--backend","cpu"), "f.html")
if "mri" in run("--help")[1]:
    m=name+".h5"
    run("mri","simulate",m,"--matrix","16","--coils","2","--spokes","16","--quiet")
    with h5py.File(m,"r+") as f:
        x=f["dataset/xml"]; t=x[()]; t=t if isinstance(t,bytes) else t[0]
        t=t.decode(); t=re.sub("<trajectory>.*?</trajectory>","<trajectory>&lt;img src=x&gt;\u202e\u009b31m</trajectory>",t)
        del f["dataset/xml"]; f.create_dataset("dataset/xml",data=np.array([t],object),dtype=h5py.string_dtype())
        f.create_group("a\x1b[31m\n"); f["a\x1b[31m\n/data"]=1; f["a\x1b[31m\n/xml"]=1
    report("mri info", *run("mri","info",m))
    report("mri rec", *run("mri","reconstruct",m,"-o","i.npy","--report","m.html","--backend","cpu","--iterations","1"), "m.html")
    report("mri group", *run("mri","info",m,"--group","zz"))
sys.exit(1 if wrong else 0)
