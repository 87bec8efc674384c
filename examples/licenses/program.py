import re
from collections import defaultdict

licenses = await tools.licenses.list()
texts = await asyncio.gather(*(tools.licenses.get(id=license["id"]) for license in licenses))

groups = defaultdict(list)
for license, text in zip(licenses, texts):
    groups[re.sub(r"[^a-z0-9]", "", text["licenseText"].lower())].append(license["id"])

shared = [ids for ids in groups.values() if len(ids) > 1]
largest = min(shared, key=lambda ids: (-len(ids), ids[0]))
return {
    "licenses": len(licenses),
    "groups": len(shared),
    "inGroups": sum(len(ids) for ids in shared),
    "largest": sorted(largest),
}
