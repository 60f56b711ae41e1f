# %%
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms, models

torch.manual_seed(0)

# %%
train_loader = DataLoader(datasets.CIFAR10('data', train=True, transform=transforms.ToTensor()), batch_size=64, shuffle=True)
test_loader = DataLoader(datasets.CIFAR10('data', train=False, transform=transforms.ToTensor()), batch_size=64)

# %%
net = models.resnet18(pretrained=True)
net.fc = nn.Linear(512, 10)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

# %%
for epoch in range(10):
    net.train()
    for images, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(images), labels)
        loss.backward()
        optimizer.step()
    print('epoch', epoch, 'loss', loss.item())

# %%
net.eval()
correct = 0
total = 0
with torch.no_grad():
    for images, labels in test_loader:
        predicted = net(images).argmax(dim=1)
        total += labels.size(0)
        correct += (predicted == labels).sum().item()
print('accuracy', correct / total)
