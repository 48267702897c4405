"""`cdkr` reading from an emulator that is not ours.

Usage: other_emulator.py CDKR BEFORE AFTER
"""

import json
import os
import subprocess
import sys
import tempfile

import boto3
from moto.server import ThreadedMotoServer

CDKR, BEFORE, AFTER = sys.argv[1:4]


def deploy(url, directory):
    settings = {
        "endpoint_url": url,
        "region_name": "us-east-1",
        "aws_access_key_id": "111111111111",
        "aws_secret_access_key": "any",
    }
    ssm = boto3.client("ssm", **settings)
    ssm.put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    cloudformation = boto3.client("cloudformation", **settings)
    with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as file:
        artifacts = json.load(file)["artifacts"]
    for name, artifact in artifacts.items():
        if artifact["type"] == "aws:cloudformation:stack":
            path = os.path.join(directory, artifact["properties"]["templateFile"])
            with open(path, encoding="utf-8") as file:
                cloudformation.create_stack(StackName=name, TemplateBody=file.read())


def moves(url, assembly):
    environment = {
        "HOME": tempfile.mkdtemp(),
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "MOTO_ACCOUNT_ID": "111111111111",
    }
    command = [CDKR, "refactor", "--dry-run", "--app", assembly, "--output", "json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)["environments"]
    return [
        (one["source"]["logicalId"], one["destination"]["logicalId"]) for one in report["mappings"]
    ]


os.environ["MOTO_ACCOUNT_ID"] = "111111111111"
server = ThreadedMotoServer(port=0)
server.start()
host, port = server.get_host_and_port()
url = f"http://127.0.0.1:{port}"
deploy(url, BEFORE)
assert moves(url, BEFORE) == [], "nothing moved"
found = moves(url, AFTER)
assert found, "something moved"
print("ok", len(found), "moves")
server.stop()
